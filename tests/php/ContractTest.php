<?php
/**
 * Holds the extension's functions against the contract: names, arguments, their order and their defaults.
 */

use PHPUnit\Framework\TestCase;

final class ContractTest extends TestCase
{
    /** How many functions of the contract the extension does not have yet. Lower it with every function that is added. */
    private const MISSING = 0;

    /** @var array<string, ReflectionFunction> */
    private static array $contract;

    public static function setUpBeforeClass(): void
    {
        // Under a namespace the functions of the contract stand beside those of the extension.
        $source = file_get_contents(__DIR__ . '/../contract/functions.stub.php');
        eval('namespace Contract; ' . substr($source, strlen('<?php')));
        self::$contract = [];
        foreach (get_defined_functions()['user'] as $name) {
            if (str_starts_with($name, 'contract\\')) {
                $function = new ReflectionFunction($name);
                self::$contract[$function->getShortName()] = $function;
            }
        }
    }

    public function testEveryFunctionIsAsTheContractSays(): void
    {
        $this->assertCount(179, self::$contract);
        foreach (self::built() as $name => $function) {
            $this->assertArrayHasKey($name, self::$contract, "$name is not in the contract");
            $this->assertSame(self::form(self::$contract[$name]), self::form($function), $name);
        }
    }

    public function testNoFunctionIsMissingThatWasThereBefore(): void
    {
        $missing = array_diff_key(self::$contract, self::built());
        $this->assertCount(self::MISSING, $missing, sprintf(
            "%d functions are missing, not %d: set MISSING right.\nThere are %s.\nMissing are %s.",
            count($missing),
            self::MISSING,
            implode(', ', array_keys(self::built())),
            implode(', ', array_keys($missing))
        ));
    }

    public function testArgumentsAndResultsAreDescribedForPhp(): void
    {
        foreach (self::built() as $name => $function) {
            foreach ($function->getParameters() as $parameter) {
                $this->assertFalse($parameter->isPassedByReference(), "$name: \${$parameter->getName()}");
                $this->assertTrue($parameter->allowsNull(), "$name: \${$parameter->getName()}");
            }
            $this->assertFalse($function->returnsReference(), $name);
            $this->assertFalse($function->isDeprecated(), $name);
        }
    }

    /** @return array<string, ReflectionFunction> by their exact names */
    private static function built(): array
    {
        $functions = [];
        foreach ((new ReflectionExtension('sb'))->getFunctions() as $function) {
            $functions[$function->getName()] = $function;
        }
        return $functions;
    }

    /** Each argument's name, and its default where it has one. */
    private static function form(ReflectionFunction $function): array
    {
        return array_map(static fn (ReflectionParameter $parameter) => [
            'name' => $parameter->getName(),
            'optional' => $parameter->isOptional(),
            'default' => $parameter->isDefaultValueAvailable() ? $parameter->getDefaultValue() : null,
        ], $function->getParameters());
    }
}
