--TEST--
Texts come in the language of the browser or of the active user, and sb_e prints through the output buffers
--FILE--
<?php
require __DIR__ . '/../installation.inc';
$folder = new Folder();
installation(['SB_PATH' => $folder->path]);
sql("UPDATE sb_phpt.sb_settings SET value = JSON_SET(value, '$.\"front-auto-translations\"', JSON_ARRAY(true, 'checkbox'))
    WHERE name = 'settings'");
$_SERVER['HTTP_ACCEPT_LANGUAGE'] = 'de-AT,de;q=0.9,en;q=0.5';
$GLOBALS['SB_FORCE_ADMIN'] = true;
show('saved', sb_save_translations([
    'de' => ['front' => ['Send' => 'Senden']],
    'fr' => ['front' => ['Send' => 'Envoyer']],
]));
$GLOBALS['SB_FORCE_ADMIN'] = false;
show('browser', [sb_get_user_language(), sb_('Send'), sb_('Send'), sb_('Unknown')]);

// A user's own language goes before, from the moment it is the active one.
sb_update_user_value(3, 'language', 'fr');
$GLOBALS['SB_LOGIN'] = ['id' => '3', 'user_type' => 'user'];
show('user', [sb_get_user_language(), sb_('Send'), sb_('Send')]);
$GLOBALS['SB_LOGIN'] = ['id' => 5, 'user_type' => 'visitor'];
show('visitor', sb_('Send'));
$GLOBALS['SB_LOGIN'] = '{"id":"3","user_type":"user"}';
show('as text', sb_('Send'));
$GLOBALS['SB_LOGIN'] = false;
show('nobody', sb_('Send'));

ob_start(static fn (string $text): string => strtoupper($text));
show('returned', [sb_e('Send'), sb_e('Unknown')]);
ob_end_flush();
sb_e("Send");
echo "\n";
?>
--EXPECT--
saved: true
browser: ["de","Senden","Senden","Unknown"]
user: ["fr","Envoyer","Envoyer"]
visitor: "Senden"
as text: "Envoyer"
nobody: "Senden"
SENDENUNKNOWNRETURNED: [NULL,NULL]
Senden
