--TEST--
Values keep their kinds: bytes, NUL, floats, keys, references, large numbers
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
$same = static fn (mixed $value) => sb_isset(['k' => $value], 'k', 'none') === $value;
$text = "a\0b\xff";
$reference = ['x' => 1];
$reference['y'] = &$reference['x'];
$values = [
    $text, 1, -1, PHP_INT_MAX, PHP_INT_MIN, 1.0, 0.1 + 0.2, -0.0, INF, true, [], [1, 2], ['a' => null], [5 => 'a', 7 => 'b'],
    ['1' => 'a', 'b'], [$text => $text], $reference, [[[]]], str_repeat('x', 1 << 20), range(0, 9999),
];
foreach ($values as $position => $value) {
    if (!$same($value)) {
        echo "$position changed: ", var_export(sb_isset(['k' => $value], 'k', 'none'), true), "\n";
    }
}
var_dump(is_nan(sb_isset([NAN], 0)));
// What is given is not changed, nor held.
$given = ['first_name' => 'Ines', 'email' => 'ines@customer.example'];
$copy = $given;
$id = sb_add_user($given);
var_dump($given === $copy, is_string($id));
var_dump(sb_add_user($given));
$kept = sb_get_user($id);
$kept['first_name'] = 'Other';
var_dump(sb_get_user($id)['first_name']);
// Rows share their keys and repeated cells: a change in one is none in another.
$rows = sb_db_get("SELECT 'long enough to be counted' AS a, id FROM sb_users ORDER BY id", false);
$rows[0]['a'] .= '!';
var_dump($rows[1]['a'], $rows[0]['a'], array_is_list($rows));
?>
--EXPECT--
bool(true)
bool(true)
bool(true)
string(15) "duplicate-email"
string(4) "Ines"
string(25) "long enough to be counted"
string(26) "long enough to be counted!"
bool(true)
