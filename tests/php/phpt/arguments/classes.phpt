--TEST--
SBError and SBValidationError: made by the library and by callers, and safe when misused
--FILE--
<?php
require __DIR__ . '/../installation.inc';
$made = new SBError('some-code', 'some_function', 'Some message');
show('made', [$made->code(), $made->function_name(), $made->message(), (string) $made]);
show('only a code', [(new SBError('a'))->message(), (new SBError('a'))->function_name()]);
show('validation', (new SBValidationError('duplicate-email'))->code());
$given = sb_get_user(1);
show('given', [$given instanceof SBError, $given->function_name(), sb_is_error($given), sb_is_validation_error($given)]);
show('kinds', [
    sb_is_error($made), sb_is_error(new SBValidationError('a')), sb_is_error('a'), sb_is_error(false),
    sb_is_validation_error(new SBValidationError('a')), sb_is_validation_error('duplicate-email'),
    sb_is_validation_error('other'),
]);
show('child', [sb_is_error(new class('a', 'b', 'c') extends SBError {}), (new class('a') extends SBError {})->code()]);
$bare = (new ReflectionClass('SBError'))->newInstanceWithoutConstructor();
foreach ([
    'no code' => fn () => new SBError(),
    'array for a code' => fn () => new SBError([]),
    'clone' => fn () => clone $made,
    'serialize' => fn () => serialize($made),
    'unserialize' => fn () => unserialize('O:7:"SBError":0:{}'),
    'bare code' => fn () => $bare->code(),
    'bare text' => fn () => (string) $bare,
    'bare argument' => fn () => sb_is_error($bare),
    'child without parent' => fn () => (new class extends SBError { public function __construct() {} })->message(),
] as $title => $misuse) {
    $exception = outcome($misuse);
    echo $title, ': ', $exception instanceof Throwable ? 'refused' : 'accepted', "\n";
}
show('still', $made->code());
?>
--EXPECT--
made: ["some-code","some_function","Some message","some_function: Some message (some-code)"]
only a code: ["",""]
validation: "duplicate-email"
given: [true,"sb_get_user",true,false]
kinds: [true,false,false,false,true,true,false]
child: [true,"a"]
no code: refused
array for a code: refused
clone: refused
serialize: refused
unserialize: refused
bare code: refused
bare text: refused
bare argument: refused
child without parent: refused
still: "some-code"
