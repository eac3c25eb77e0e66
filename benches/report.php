<?php
/**
 * Prints what benches/bench.php measured, one JSON text per line of its input: a table per size, then the growth.
 */

$runs = array_map(static fn (string $line): array => json_decode($line, true), file('php://stdin', FILE_IGNORE_NEW_LINES));
$names = ['sb' => 'sb', 'mysqli' => 'bare mysqli', 'php' => 'plain PHP', 'internal' => 'PHP\'s abs()'];

$duration = static fn (float $ns): string => match (true) {
    $ns < 10_000 => sprintf('%.0f ns', $ns),
    $ns < 10_000_000 => sprintf('%.1f µs', $ns / 1000),
    default => sprintf('%.1f ms', $ns / 1_000_000),
};
$cell = static fn (string $text, int $width): string => str_repeat(' ', max(0, $width - mb_strlen($text))) . $text;

foreach ($runs as $run) {
    printf("\n%s\n", $run['size']);
    printf("  %-27s %-13s %11s %11s   %s\n", '', '', 'median', 'p10', 'sb in proportion (median, p10)');
    foreach ($run['operations'] as $operation => $contenders) {
        foreach ($contenders as $contender => $times) {
            $sb = $contenders['sb'];
            printf(
                "  %-27s %-13s %s %s   %s\n",
                $contender === 'sb' ? $operation : '',
                $names[$contender],
                $cell($duration($times['median']), 11),
                $cell($duration($times['p10']), 11),
                match ($contender) {
                    'sb' => '',
                    'internal' => sprintf('%+.0f ns, %+.0f ns', $sb['median'] - $times['median'], $sb['p10'] - $times['p10']),
                    default => sprintf('%.2f, %.2f', $sb['median'] / $times['median'], $sb['p10'] / $times['p10']),
                },
            );
        }
    }
}

// Runs of the same operations, at several sizes.
$groups = [];
foreach ($runs as $run) {
    $groups[implode(' ', array_keys($run['operations']))][] = $run;
}
foreach ($groups as $group) {
    if (count($group) === 1) {
        continue;
    }
    printf("\nGrowth: the median of sb, and in proportion to bare mysqli or plain PHP\n  %-27s", '');
    foreach ($group as $run) {
        printf(' %23s', $run['size']);
    }
    echo "\n";
    foreach (array_keys($group[0]['operations']) as $operation) {
        printf('  %-27s', $operation);
        foreach ($group as $run) {
            $contenders = $run['operations'][$operation];
            $other = $contenders['mysqli'] ?? $contenders['php'] ?? null;
            $proportion = $other ? sprintf(' (%.2f)', $contenders['sb']['median'] / $other['median']) : '';
            echo ' ', $cell($duration($contenders['sb']['median']) . $proportion, 23);
        }
        echo "\n";
    }
}
