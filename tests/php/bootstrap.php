<?php
/**
 * What all PHPUnit tests stand on: the classes of the folder support.
 */

spl_autoload_register(static function (string $class): void {
    $file = __DIR__ . '/support/' . $class . '.php';
    if (is_file($file)) {
        require $file;
    }
});
