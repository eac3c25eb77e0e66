--TEST--
The HTTP API answers whatever it is given, and nobody who is logged in elsewhere counts
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
$GLOBALS['SB_LOGIN'] = ['id' => 1, 'user_type' => 'admin'];
$GLOBALS['SB_FORCE_ADMIN'] = true;
$ask = static function (mixed $body, array $server): void {
    $_SERVER = $server;
    [$status, $headers, $answer, $failure] = SBApi::answer($body);
    $codes = array_column(json_decode($answer, true)['errors'] ?? [], 'code');
    echo $status, ' ', $codes[0] ?? $answer, ' ', count($headers), ' ', json_encode($failure), "\n";
};
foreach (['', null, 5, [], new stdClass(), "\xff\0", str_repeat('[', SBApi::BODY_LIMIT + 1)] as $body) {
    $ask($body, ['REQUEST_METHOD' => 'POST', 'REQUEST_URI' => '/v1/messages']);
}
$ask('', ['REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/healthz']);
$ask('', ['REQUEST_METHOD' => "\xff", 'REQUEST_URI' => ['a'], 'SCRIPT_NAME' => 5, 'HTTP_AUTHORIZATION' => null]);
$ask('', []);
show('login', $GLOBALS['SB_LOGIN']);
show('made', outcome(static fn () => new SBApi()));
?>
--EXPECT--
401 unauthorized 6 null
401 unauthorized 6 null
401 unauthorized 6 null
401 unauthorized 6 null
401 unauthorized 6 null
401 unauthorized 6 null
401 unauthorized 6 null
200 {"status":"ok"} 5 null
404 not-found 5 null
404 not-found 5 null
login: {"id":1,"user_type":"admin"}
made: Exception: You cannot instantiate this class from PHP.
