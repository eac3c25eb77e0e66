<?php
/**
 * The stub tells editors and analysers what the extension has, in types that PHPStan reads.
 */

use PHPStan\PhpDocParser\Ast\PhpDoc\InvalidTagValueNode;
use PHPStan\PhpDocParser\Ast\PhpDoc\ParamTagValueNode;
use PHPStan\PhpDocParser\Ast\PhpDoc\PhpDocNode;
use PHPStan\PhpDocParser\Lexer\Lexer;
use PHPStan\PhpDocParser\Parser\ConstExprParser;
use PHPStan\PhpDocParser\Parser\PhpDocParser;
use PHPStan\PhpDocParser\Parser\TokenIterator;
use PHPStan\PhpDocParser\Parser\TypeParser;
use PHPStan\PhpDocParser\ParserConfig;
use PHPUnit\Framework\TestCase;

final class StubTest extends TestCase
{
    private const STUB = __DIR__ . '/../../php/stubs/sb.stub.php';

    /** @var array<string, ReflectionFunction> */
    private static array $stubs = [];

    public static function setUpBeforeClass(): void
    {
        // Under a namespace it stands beside the extension.
        eval('namespace Stub; ' . substr(file_get_contents(self::STUB), strlen('<?php')));
        foreach (get_defined_functions()['user'] as $name) {
            if (str_starts_with($name, 'stub\\')) {
                $function = new ReflectionFunction($name);
                self::$stubs[$function->getShortName()] = $function;
            }
        }
    }

    public function testItDeclaresWhatTheExtensionHas(): void
    {
        $extension = new ReflectionExtension('sb');
        $built = array_map(self::form(...), array_values($extension->getFunctions()));
        $this->assertEqualsCanonicalizing($built, array_map(self::form(...), array_values(self::$stubs)));
        foreach ($extension->getClasses() as $class) {
            $stub = new ReflectionClass('Stub\\' . $class->getName());
            $this->assertEqualsCanonicalizing(self::methods($class), self::methods($stub), $class->getName());
        }
    }

    public function testPhpStanReadsEveryType(): void
    {
        foreach (self::$stubs as $name => $function) {
            $documentation = self::parsed($function->getDocComment());
            foreach ($documentation->getTags() as $tag) {
                $this->assertNotInstanceOf(InvalidTagValueNode::class, $tag->value, "$name: $tag");
            }
            $this->assertCount(1, $documentation->getReturnTagValues(), $name);
            $documented = array_map(static fn (ParamTagValueNode $tag) => $tag->parameterName, self::params($documentation));
            $declared = array_map(static fn ($parameter) => '$' . $parameter->getName(), $function->getParameters());
            $this->assertSame($declared, array_values($documented), $name);
        }
    }

    public function testEveryDefaultIsOfTheTypeOfItsArgument(): void
    {
        foreach (self::$stubs as $name => $function) {
            $params = self::params(self::parsed($function->getDocComment()));
            foreach ($function->getParameters() as $place => $parameter) {
                if (!$parameter->isOptional()) {
                    continue;
                }
                $type = (string) $params[$place]->type;
                $accepting = match (true) {
                    is_bool($parameter->getDefaultValue()) => 'bool|' . var_export($parameter->getDefaultValue(), true),
                    is_array($parameter->getDefaultValue()) => 'array|list',
                    default => get_debug_type($parameter->getDefaultValue()),
                };
                $this->assertMatchesRegularExpression("/\\b($accepting|mixed)\\b/", $type, "$name: \${$parameter->getName()}");
            }
        }
    }

    /** The name of a function, its arguments and their defaults. */
    private static function form(ReflectionFunction|ReflectionMethod $function): array
    {
        $arguments = array_map(static fn (ReflectionParameter $parameter) => [
            $parameter->getName(),
            $parameter->isOptional(),
            $parameter->isDefaultValueAvailable() ? $parameter->getDefaultValue() : null,
        ], $function->getParameters());
        return [$function->getShortName(), $arguments];
    }

    private static function methods(ReflectionClass $class): array
    {
        return array_map(self::form(...), $class->getMethods(ReflectionMethod::IS_PUBLIC));
    }

    /** @return list<ParamTagValueNode> */
    private static function params(PhpDocNode $documentation): array
    {
        return array_values($documentation->getParamTagValues());
    }

    private static function parsed(string $comment): PhpDocNode
    {
        require_once 'PHPStan/PhpDocParser/autoload.php';
        // Its second version wants to be configured.
        $configuration = class_exists(ParserConfig::class) ? [new ParserConfig([])] : [];
        $constants = new ConstExprParser(...$configuration);
        $types = new TypeParser(...[...$configuration, $constants]);
        $parser = new PhpDocParser(...[...$configuration, $types, $constants]);
        return $parser->parse(new TokenIterator((new Lexer(...$configuration))->tokenize($comment)));
    }
}
