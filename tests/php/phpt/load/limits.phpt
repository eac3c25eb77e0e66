--TEST--
The limits come from php.ini, ini_set and constants, of which the last counts
--FILE--
<?php
require __DIR__ . '/../installation.inc';
$silent = stream_socket_server('tcp://127.0.0.1:0');
$folder = new Folder();
$script = $folder->write('page.php', '<?php
    require getenv("INSTALLATION");
    define("SB_DB_NAME", "a");
    define("SB_DB_USER", "b");
    define("SB_DB_HOST", getenv("SILENT"));
    foreach (array_slice($argv, 1) as $step) {
        eval($step . ";");
    }
    $started = microtime(true);
    $error = sb_get_user(1);
    $seconds = microtime(true) - $started;
    echo $error->code(), ": ", $error->message(), ", ", round($seconds, 1), " s\n";');
putenv('INSTALLATION=' . __DIR__ . '/../installation.inc');
putenv('SILENT=' . stream_socket_get_name($silent, false));
$page = static function (array $options, string ...$steps) use ($script): void {
    echo implode('', array_slice(run(Php::command(...$options, ...[$script], ...$steps), ''), 1));
};
$page(['-d', 'sb.connect_timeout=0.4']);
$page(['-d', 'sb.connect_timeout=30'], 'ini_set("sb.connect_timeout", "0.7")');
$page(['-d', 'sb.connect_timeout=30'], 'ini_set("sb.connect_timeout", "20")', 'define("SB_CONNECT_TIMEOUT", 1.1)');
$page([], 'define("SB_CONNECT_TIMEOUT", "1.4")');
$page(['-d', 'sb.connect_timeout=soon']);
$page(['-d', 'sb.statement_timeout=-1']);
?>
--EXPECT--
db-error-2002: the database server did not accept a connection within 0.4 s, 0.4 s
db-error-2002: the database server did not accept a connection within 0.7 s, 0.7 s
db-error-2002: the database server did not accept a connection within 1.1 s, 1.1 s
db-error-2002: the database server did not accept a connection within 1.4 s, 1.4 s
configuration: SB_CONNECT_TIMEOUT must be a number of seconds up to 3600: soon, 0 s
configuration: SB_STATEMENT_TIMEOUT must be a number of seconds up to 3600: -1, 0 s
