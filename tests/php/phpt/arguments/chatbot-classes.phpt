--TEST--
SBChatbotIntent and SBChatbotEntity: made by callers, taken for the map of their arguments, and safe when misused
--FILE--
<?php
require __DIR__ . '/../installation.inc';
// What an array of the library's own holds is given back as it was read.
$read = static fn (object $object) => sb_json_array([$object])[0];
show('intent', $read(new SBChatbotIntent(['Hello', 'Hi'], 'Good day', 'en', 'greeting')));
show('short intent', $read(new SBChatbotIntent('Hello', ["A\0b", '👋'])));
show('named', $read(new SBChatbotIntent(responses: 'a', name: 'b', training_phrases: 'c', language: false)));
show('entity', $read(new SBChatbotEntity([['value' => 'red', 'synonyms' => ['crimson']]], 'colour')));
show('short entity', $read(new SBChatbotEntity([])));
show('child', $read(new class('a', 'b') extends SBChatbotIntent {}));
$phrases = ['Hello'];
$intent = new SBChatbotIntent($phrases, 'Good day');
$phrases[] = 'later';
show('kept', $read($intent)['training_phrases']);
show('deep in an array', sb_json_array(['a' => [['b' => $intent]]])['a'][0]['b']['responses']);
show('twice', sb_json_array([$intent, $intent]) == [$read($intent), $read($intent)]);
show('neither is an error', [sb_is_error($intent), sb_is_validation_error($intent)]);
$endless = [];
$endless[] = &$endless;
$bare = (new ReflectionClass('SBChatbotIntent'))->newInstanceWithoutConstructor();
foreach ([
    'nothing' => fn () => new SBChatbotIntent(),
    'no responses' => fn () => new SBChatbotIntent('a'),
    'no values' => fn () => new SBChatbotEntity(),
    'an object' => fn () => new SBChatbotIntent(new stdClass(), 'a'),
    'a closure' => fn () => new SBChatbotIntent('a', fn () => 'b'),
    'an object as language' => fn () => new SBChatbotIntent('a', 'b', new stdClass()),
    'a nested object' => fn () => new SBChatbotEntity([['value' => new ArrayObject()]]),
    'endless' => fn () => new SBChatbotEntity($endless),
    'clone' => fn () => clone $intent,
    'serialize' => fn () => serialize($intent),
    'unserialize' => fn () => unserialize('O:15:"SBChatbotIntent":0:{}'),
    'bare argument' => fn () => sb_json_array([$bare]),
    'child without parent' => fn () => sb_json_array([new class extends SBChatbotIntent { public function __construct() {} }]),
] as $title => $misuse) {
    $exception = outcome($misuse);
    echo $title, ': ', $exception instanceof Throwable ? get_class($exception) : 'accepted', "\n";
}
echo outcome(fn () => new SBChatbotEntity([new stdClass()]))->getMessage(), "\n";
show('still', $read($intent)['responses']);
?>
--EXPECT--
intent: {"training_phrases":["Hello","Hi"],"responses":"Good day","language":"en","name":"greeting"}
short intent: {"training_phrases":"Hello","responses":["A\u0000b","👋"],"language":null,"name":null}
named: {"training_phrases":"c","responses":"a","language":false,"name":"b"}
entity: {"values":[{"value":"red","synonyms":["crimson"]}],"name":"colour"}
short entity: {"values":[],"name":null}
child: {"training_phrases":"a","responses":"b","language":null,"name":null}
kept: ["Hello"]
deep in an array: "Good day"
twice: true
neither is an error: [false,false]
nothing: ArgumentCountError
no responses: ArgumentCountError
no values: ArgumentCountError
an object: TypeError
a closure: TypeError
an object as language: TypeError
a nested object: TypeError
endless: TypeError
clone: Error
serialize: Exception
unserialize: Exception
bare argument: TypeError
child without parent: TypeError
SBChatbotEntity::__construct(): argument $values must be a plain value or an array of them
still: "Good day"
