<?php
/**
 * A web page for the tests: includes the shim of the installation named by INSTALLATION and runs the PHP code that the
 * request brings; what that returns is the answer, serialized.
 */

include getenv('INSTALLATION') . '/include/functions.php';
echo serialize(eval(file_get_contents('php://input')));
