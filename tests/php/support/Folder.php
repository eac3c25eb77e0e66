<?php
/**
 * A folder of its own for a test: gone when the test has ended.
 */
final class Folder
{
    public string $path;

    public function __construct()
    {
        $this->path = sys_get_temp_dir() . '/sb-php-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($this->path);
    }

    /** An installation: the PHP files of include/, and its config.php unless that is null. */
    public static function installation(?string $configuration): self
    {
        $folder = new self();
        mkdir($folder->path . '/include');
        foreach (['functions.php', 'api.php'] as $file) {
            copy(__DIR__ . "/../../../include/$file", "$folder->path/include/$file");
        }
        if ($configuration !== null) {
            $folder->write('config.php', $configuration);
        }
        return $folder;
    }

    /** The text of a config.php. */
    public static function configuration(array $constants): string
    {
        $text = "<?php\n";
        foreach ($constants as $name => $value) {
            $text .= 'define(' . var_export($name, true) . ', ' . var_export($value, true) . ");\n";
        }
        return $text;
    }

    public function write(string $name, string $text): string
    {
        file_put_contents($this->path . '/' . $name, $text);
        return $this->path . '/' . $name;
    }

    public function __destruct()
    {
        $entries = new RecursiveIteratorIterator(
            new RecursiveDirectoryIterator($this->path, FilesystemIterator::SKIP_DOTS),
            RecursiveIteratorIterator::CHILD_FIRST
        );
        foreach ($entries as $entry) {
            $entry->isDir() ? rmdir((string) $entry) : unlink((string) $entry);
        }
        rmdir($this->path);
    }
}
