--TEST--
The log of php.ini gets failures and slow statements, a script cannot choose its file, and phpinfo() counts
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
$folder = new Folder();
$log = $folder->path . '/sb.log';
$script = $folder->write('page.php', '<?php
    error_reporting(-1);
    require getenv("INSTALLATION");
    installation();
    var_dump(ini_set("sb.log", "/tmp/of-the-script.log"));
    ini_set("sb.slow_statement", "0.2");
    sb_db_get("SELECT SLEEP(0.3), \'hidden\'");
    sb_get_user(99);
    sb_db_get("SELECT nothing");
    ob_start();
    phpinfo(INFO_MODULES);
    preg_match_all("/^(Calls|Failures|Statements|Slow statements|Connections made) => \d+$/m", ob_get_clean(), $counters);
    echo implode("\n", $counters[0]), "\n";');
putenv('INSTALLATION=' . realpath(__DIR__ . '/../installation.inc'));
echo implode('|', run(Php::command('-d', "sb.log=$log", $script), '')), "\n";
foreach (file($log) as $line) {
    $entry = json_decode($line, true);
    echo $entry['level'], ' ', $entry['event'], ' ', $entry['statement'] ?? "$entry[operation] $entry[code]", "\n";
}
echo str_contains(file_get_contents($log), 'hidden') ? 'a value is in it' : 'no value is in it', "\n";
[, , $complaints] = run(Php::command('-d', 'sb.log=stderr', $script), '');
echo count(preg_grep('/^\{"time":.*\}$/', explode("\n", $complaints))), " lines on stderr\n";
?>
--EXPECT--
0|bool(false)
Calls => 3
Failures => 1
Statements => 3
Slow statements => 1
Connections made => 1
|
warning slow-statement SELECT SLEEP(?), ?
error failure sb_db_get db-error-1054
no value is in it
2 lines on stderr
