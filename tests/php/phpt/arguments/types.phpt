--TEST--
Objects, closures, resources and arrays that hold themselves are a TypeError, and PHP goes on
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
$endless = [];
$endless['x'] = &$endless;
$deep = 'end';
for ($level = 0; $level < 100_000; $level++) {
    $deep = [$deep];
}
$closed = fopen('php://memory', 'r');
fclose($closed);
enum Suit { case Hearts; }
$values = [
    'object' => new stdClass(),
    'closure' => fn () => 1,
    'resource' => fopen('php://memory', 'r'),
    'closed resource' => $closed,
    'enum' => Suit::Hearts,
    'generator' => (fn () => yield 1)(),
    'endless' => $endless,
    'deep' => $deep,
    'nested object' => ['a' => [new ArrayObject()]],
];
foreach ($values as $title => $value) {
    show($title, outcome(fn () => sb_get_user($value)));
    show("$title to one that computes", outcome(fn () => sb_json_array($value)));
    show("$title in settings", outcome(fn () => sb_add_user(['first_name' => $value])));
}
show('array for a text', outcome(fn () => sb_password_verify(['a'], 'b')));
show('error for an id', outcome(fn () => sb_get_user(new SBError('a', 'b', 'c'))));
show('128 levels', outcome(function () {
    $value = 1;
    for ($level = 0; $level < 128; $level++) {
        $value = [$value];
    }
    return sb_json_array($value) === $value;
}));
show('users', sql('SELECT COUNT(*) FROM sb_phpt.sb_users'));
?>
--EXPECT--
object: TypeError: sb_get_user(): argument $user_id must be a plain value or an array of them
object to one that computes: TypeError: sb_json_array(): argument $json must be a plain value or an array of them
object in settings: TypeError: sb_add_user(): argument $settings must be a plain value or an array of them
closure: TypeError: sb_get_user(): argument $user_id must be a plain value or an array of them
closure to one that computes: TypeError: sb_json_array(): argument $json must be a plain value or an array of them
closure in settings: TypeError: sb_add_user(): argument $settings must be a plain value or an array of them
resource: TypeError: sb_get_user(): argument $user_id must be a plain value or an array of them
resource to one that computes: TypeError: sb_json_array(): argument $json must be a plain value or an array of them
resource in settings: TypeError: sb_add_user(): argument $settings must be a plain value or an array of them
closed resource: TypeError: sb_get_user(): argument $user_id must be a plain value or an array of them
closed resource to one that computes: TypeError: sb_json_array(): argument $json must be a plain value or an array of them
closed resource in settings: TypeError: sb_add_user(): argument $settings must be a plain value or an array of them
enum: TypeError: sb_get_user(): argument $user_id must be a plain value or an array of them
enum to one that computes: TypeError: sb_json_array(): argument $json must be a plain value or an array of them
enum in settings: TypeError: sb_add_user(): argument $settings must be a plain value or an array of them
generator: TypeError: sb_get_user(): argument $user_id must be a plain value or an array of them
generator to one that computes: TypeError: sb_json_array(): argument $json must be a plain value or an array of them
generator in settings: TypeError: sb_add_user(): argument $settings must be a plain value or an array of them
endless: TypeError: sb_get_user(): argument $user_id must be a plain value or an array of them
endless to one that computes: TypeError: sb_json_array(): argument $json must be a plain value or an array of them
endless in settings: TypeError: sb_add_user(): argument $settings must be a plain value or an array of them
deep: TypeError: sb_get_user(): argument $user_id must be a plain value or an array of them
deep to one that computes: TypeError: sb_json_array(): argument $json must be a plain value or an array of them
deep in settings: TypeError: sb_add_user(): argument $settings must be a plain value or an array of them
nested object: TypeError: sb_get_user(): argument $user_id must be a plain value or an array of them
nested object to one that computes: TypeError: sb_json_array(): argument $json must be a plain value or an array of them
nested object in settings: TypeError: sb_add_user(): argument $settings must be a plain value or an array of them
array for a text: TypeError: sb_password_verify(): argument $password must be a text
error for an id: TypeError: sb_get_user(): argument $user_id must be an id
128 levels: true
users: "7"
