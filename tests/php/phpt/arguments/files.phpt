--TEST--
A CURLFile is taken for a file, and no array or object of another class is
--FILE--
<?php
require __DIR__ . '/../installation.inc';
if (!class_exists('CURLFile')) {
    // The extension that has it is not loaded here.
    class CURLFile
    {
        public function __construct(public string $name, public string $mime = '', public string $postname = '') {}
    }
}
class OtherFile extends CURLFile {}
installation();
sql(<<<'SQL'
    REPLACE INTO sb_phpt.sb_settings (name, value) VALUES ('settings', '{"llm": [{"llm-active": [true, "checkbox"],
        "llm-key": ["sk-1", "password"], "llm-url": ["http://127.0.0.1:1/v1/", "text"]}, "multi-input"]}')
    SQL);
$upload = fn (mixed $file) => outcome(fn () => sb_llm_curl('files', ['purpose' => 'user_data', 'file' => $file], 'UPLOAD'));
show('a file', $upload(new CURLFile(__FILE__)));
show('with a type and a name', $upload(new CURLFile(__FILE__, 'text/plain', 'notes.txt')));
show('no file', $upload(new CURLFile('/nowhere/notes.txt')));
show('a folder', $upload(new CURLFile(__DIR__)));
show('another class', $upload(new OtherFile(__FILE__)));
show('an array of the same keys', $upload(['name' => '/nowhere/notes.txt', 'mime' => '', 'postname' => '']));
show('where a text is meant', outcome(fn () => sb_llm_curl(new CURLFile(__FILE__))));
show('where nothing can come of it', sb_json_array(['file' => new CURLFile(__FILE__)]));
?>
--EXPECTF--
a file: "127.0.0.1:1 cannot be reached: Connection refused (os error 111)"
with a type and a name: "127.0.0.1:1 cannot be reached: Connection refused (os error 111)"
no file: SBError file-not-found: there is no file /nowhere/notes.txt
a folder: SBError file-not-found: there is no file %s
another class: TypeError: sb_llm_curl(): argument $post_fields must be a plain value or an array of them
an array of the same keys: "127.0.0.1:1 cannot be reached: Connection refused (os error 111)"
where a text is meant: TypeError: sb_llm_curl(): argument $url_part must be a text
where nothing can come of it: {"file":null}
