--TEST--
sb_css and sb_e print in their turn, into whatever buffers there are; sb_css returns where it is asked to, and sb_realtime_init prints nothing
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();

/** What a call prints, and what it gives. */
function printed(callable $call): array
{
    ob_start();
    $given = outcome($call);
    return [ob_get_clean(), $given instanceof Throwable ? get_class($given) : $given];
}

$rule = '.sb-list>.sb-right{background-color:var(--sb-color-3)}';
show('prints', printed(fn () => sb_css('', '', '#fff')) === [":root{--sb-color-3:#fff}$rule", ":root{--sb-color-3:#fff}$rule"]);
show('returns', printed(fn () => sb_css('', '', '#fff', true)) === ['', ":root{--sb-color-3:#fff}$rule"]);
show('no colour', printed(fn () => sb_css('red;}</style><script>', 'url(x)', 'x')));
show('not a text', printed(fn () => sb_css([])));
show('text', printed(fn () => sb_e('Send')));
show('nothing', printed(fn () => sb_e('')));
show('not to be printed', printed(fn () => sb_e(['Send'])));
show('realtime', printed(fn () => sb_realtime_init()));

// One after the other, also within each other's buffers.
echo 'one, ';
sb_e('two');
echo ', ';
ob_start(static fn (string $text): string => strtoupper($text));
sb_e('three, ');
ob_start();
sb_e('four');
$four = ob_get_clean();
echo strrev($four);
ob_end_flush();
echo ', ';
ob_start(static fn (string $text): string => $text . sb_('five'));
sb_e('then ');
ob_end_flush();
echo "\n";

// What a callback fails on is what echo makes of it.
foreach (['echo' => static fn () => print "one\n", 'sb_e' => static fn () => sb_e("one\n")] as $name => $print) {
    try {
        ob_start(static fn () => throw new RuntimeException('from the callback'), 1);
        $print();
    } catch (RuntimeException $exception) {
        show($name, $exception->getMessage());
    } finally {
        while (ob_get_level() > 0) {
            ob_end_clean();
        }
    }
}
sb_e("printed\n");
?>
--EXPECT--
prints: true
returns: true
no colour: ["",""]
not a text: ["","TypeError"]
text: ["Send",null]
nothing: ["",null]
not to be printed: ["","TypeError"]
realtime: ["",false]
one, two, THREE, RUOF, then five
one
echo: "from the callback"
one
sb_e: "from the callback"
printed
