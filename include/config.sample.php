<?php
/**
 * The configuration of an installation. Copy this file to config.php, in the folder above include/, and fill it in.
 */

// Name of the database.
define('SB_DB_NAME', '');

// User of the database, and that user's password.
define('SB_DB_USER', '');
define('SB_DB_PASSWORD', '');

// Host of the database server. Several as 'db1:3306,db2:3306': the first that is writable is used.
define('SB_DB_HOST', 'localhost');

// Port of the database server; 3306 when empty.
define('SB_DB_PORT', '');

// Unix socket of the database server, in place of host and port.
// define('SB_DB_SOCKET', '/run/mysqld/mysqld.sock');

// Address of the installation folder, without a slash at the end.
define('SB_URL', '');

// The installation folder itself; the folder above include/ when not defined.
// define('SB_PATH', __DIR__);

// Secret that login data and other encrypted texts are made with: 32 random bytes or more, for example what
// `openssl rand -hex 32` prints. When not defined, one is made and kept in the database.
// define('SB_SECRET_KEY', '');

// The secret before it was changed, so that older texts can still be read.
// define('SB_SECRET_KEY_OLD', '');

// Seconds to wait for a connection to the database, 5 when not defined; also sb.connect_timeout in php.ini.
// define('SB_CONNECT_TIMEOUT', 5);

// Seconds to wait for a statement, 10 when not defined and 8 with several hosts; also sb.statement_timeout in php.ini.
// define('SB_STATEMENT_TIMEOUT', 10);

// A file for the log, or 'stderr'; no log when not defined. Also sb.log in php.ini.
// define('SB_LOG', '/var/log/sb.log');

// What goes into the log: 'error', 'warning' or 'information'; 'warning' when not defined. Also sb.log_level in php.ini.
// define('SB_LOG_LEVEL', 'warning');

// Seconds from which on the log notes a statement; none when not defined. Also sb.slow_statement in php.ini.
// define('SB_SLOW_STATEMENT', 0.5);
