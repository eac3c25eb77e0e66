--TEST--
Rows of a result are arrays like any other: every key is found, and a change of one changes no other
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
// So many columns that some of them share a place in the table of hashes.
$columns = array_map(static fn (int $number): string => "'cell $number' AS column_$number", range(1, 100));
$rows = sb_db_get('SELECT n, ' . implode(', ', $columns)
    . ' FROM (SELECT 1 n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6) numbers', false);
$found = 0;
foreach ($rows as $row) {
    foreach (range(1, 100) as $number) {
        $found += (int) (($row["column_$number"] ?? null) === "cell $number");
    }
}
echo count($rows), ' rows, ', $found, " cells\n";
$rows[1]['column_7'] .= ', changed';
unset($rows[2]['column_8']);
$rows[3]['further'] = true;
echo $rows[0]['column_7'], '; ', $rows[1]['column_7'], '; ', $rows[4]['column_7'], "\n";
echo isset($rows[2]['column_8']) ? 'there' : 'gone', ', ', $rows[4]['column_8'], ', ', count($rows[3]), ', ', count($rows[4]), "\n";
$twins = sb_db_get("SELECT 1 a, 'x' b, 2 a UNION SELECT 3, 'x', 4", false);
echo count($twins[1]), ', ', $twins[0]['a'], $twins[0]['b'], ', ', $twins[1]['a'], $twins[1]['b'], "\n";
echo json_encode(array_column(sb_db_get('SELECT id, first_name FROM sb_users ORDER BY id LIMIT 3', false), 'id')), "\n";
--EXPECT--
6 rows, 600 cells
cell 7; cell 7, changed; cell 7
gone, cell 8, 102, 101
2, 2x, 4x
["1","2","3"]
