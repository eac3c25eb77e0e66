<?php
/**
 * Reads the arguments of a case: what JSON cannot hold is written as a map of one key.
 */
final class Arguments
{
    /** The value that is meant, `$results` being those of the earlier calls. */
    public static function value(mixed $given, array $results = []): mixed
    {
        if (!is_array($given)) {
            return $given;
        }
        $key = count($given) === 1 ? array_key_first($given) : null;
        return match ($key) {
            '~bytes' => base64_decode($given[$key], true),
            '~repeat' => str_repeat($given[$key][0], $given[$key][1]),
            '~error' => new SBError(...$given[$key]),
            '~result' => self::result($given[$key], $results),
            default => array_map(static fn ($item) => self::value($item, $results), $given),
        };
    }

    /** What a case says that comes, with the results of the earlier calls in it. */
    public static function withResults(mixed $expected, array $results): mixed
    {
        if (!is_array($expected)) {
            return $expected;
        }
        return array_keys($expected) === ['~result']
            ? self::result($expected['~result'], $results)
            : array_map(static fn ($item) => self::withResults($item, $results), $expected);
    }

    private static function result(array $path, array $results): mixed
    {
        return array_reduce($path, static fn ($value, $key) => $value[$key], $results);
    }
}
