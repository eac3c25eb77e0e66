<?php
/**
 * Compares what a case gave with what the case file says: tests/cases/README.md describes the matchers.
 */
final class Matcher
{
    /** Where and how the two differ; null when they agree. */
    public static function difference(mixed $expected, mixed $actual, string $place = 'result'): ?string
    {
        if (is_string($expected) && str_starts_with($expected, '~')) {
            return self::matches($expected, $actual) ? null : "$place is " . self::show($actual) . ", not $expected";
        }
        if (!is_array($expected)) {
            return $expected === $actual ? null : "$place is " . self::show($actual) . ', not ' . self::show($expected);
        }
        if (isset($expected['~bytes']) || isset($expected['~repeat'])) {
            return self::difference(Arguments::value($expected), $actual, $place);
        }
        if (isset($expected['~error'])) {
            return self::errorDifference($expected, $actual, $place);
        }
        if (!is_array($actual)) {
            return "$place is " . self::show($actual) . ', not ' . self::show($expected);
        }
        $all = !isset($expected['~contains']);
        $expected = $all ? $expected : $expected['~contains'];
        foreach ($expected as $key => $value) {
            if (!array_key_exists($key, $actual)) {
                return "$place has no $key: " . self::show($actual);
            }
            if ($difference = self::difference($value, $actual[$key], "$place.$key")) {
                return $difference;
            }
        }
        $more = $all ? array_keys(array_diff_key($actual, $expected)) : [];
        return $more ? "$place also has " . implode(', ', $more) . ': ' . self::show($actual) : null;
    }

    private static function errorDifference(array $expected, mixed $actual, string $place): ?string
    {
        if (!$actual instanceof stdClass || $actual->class !== 'SBError') {
            return "$place is " . self::show($actual) . ", not an SBError {$expected['~error']}";
        }
        return self::difference($expected['~error'], $actual->code, "$place.code")
            ?? self::difference($expected['message'] ?? '~any', $actual->message, "$place.message");
    }

    private static function matches(string $matcher, mixed $actual): bool
    {
        if ($matcher === '~any') {
            return true;
        }
        if ($matcher === '~int') {
            return is_int($actual);
        }
        if (!is_string($actual)) {
            return false;
        }
        if (str_starts_with($matcher, '~match:')) {
            return preg_match("\x01" . substr($matcher, 7) . "\x01u", $actual) === 1;
        }
        return match ($matcher) {
            '~id' => preg_match('/^[1-9][0-9]*$/D', $actual) === 1,
            '~time' => preg_match('/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/D', $actual) === 1
                && abs(strtotime($actual . ' UTC') - time()) <= 120,
            '~token' => preg_match('/^[0-9a-f]{40}$/D', $actual) === 1,
            '~text' => $actual !== '',
            default => throw new LogicException("there is no matcher $matcher"),
        };
    }

    private static function show(mixed $value): string
    {
        $text = json_encode($value, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION
            | JSON_INVALID_UTF8_SUBSTITUTE);
        return strlen($text) > 2000 ? substr($text, 0, 2000) . '…' : $text;
    }
}
