--TEST--
php --ri sb prints the version, the number of functions, the counters and the INI entries, and no warning
--FILE--
<?php
require __DIR__ . '/../installation.inc';
[$status, $output, $complaints] = run(Php::command('--ri', 'sb'), '');
var_dump($status, $complaints);
$functions = count((new ReflectionExtension('sb'))->getFunctions());
foreach (['Version => ' . phpversion('sb'), "Functions => $functions", 'sb.connect_timeout', 'sb.statement_timeout', 'sb.log', 'sb.log_level', 'sb.slow_statement', 'Calls => 0', 'Failures => 0', 'Statements => 0', 'Slow statements => 0', 'Connections made => 0', 'mysql_async', 'OpenSSL'] as $part) {
    echo $part, str_contains($output, $part) ? " is there\n" : " is missing in $output\n";
}
echo preg_match('/warning|notice|deprecated/i', $output), "\n";
[$status, , $complaints] = run(Php::command('-m'), '');
var_dump($status, $complaints);
?>
--EXPECTF--
int(0)
string(0) ""
Version => %s is there
Functions => %d is there
sb.connect_timeout is there
sb.statement_timeout is there
sb.log is there
sb.log_level is there
sb.slow_statement is there
Calls => 0 is there
Failures => 0 is there
Statements => 0 is there
Slow statements => 0 is there
Connections made => 0 is there
mysql_async is there
OpenSSL is there
0
int(0)
string(0) ""
