--TEST--
Where the extension is not loaded the shim ends with one sentence: status 1, and 500 on the web
--FILE--
<?php
require __DIR__ . '/../installation.inc';
$php = Php::command()[0];
$folder = Folder::installation(null);
$script = $folder->write('page.php', '<?php include __DIR__ . "/include/functions.php"; echo "went on";');
print_r(run([$php, '-n', $script], ''));

$port = Php::freePort();
$null = ['file', '/dev/null', 'a'];
$server = proc_open([$php, '-n', '-S', "127.0.0.1:$port", $script], [$null, $null, $null], $pipes);
for ($tries = 0; $tries < 500 && !@fsockopen('127.0.0.1', $port); $tries++) {
    usleep(10_000);
}
echo file_get_contents("http://127.0.0.1:$port/", false, stream_context_create(['http' => ['ignore_errors' => true]])), "\n";
echo $http_response_header[0], "\n";
proc_terminate($server);
?>
--EXPECTF--
Array
(
    [0] => 1
    [1] => 
    [2] => The PHP extension sb is not loaded: add the line extension=sb to php.ini and start PHP again.

)
The PHP extension sb is not loaded: add the line extension=sb to php.ini and start PHP again.
HTTP/1.%d 500 Internal Server Error
