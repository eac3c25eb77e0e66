--TEST--
What a request tells of a user: place, language and browser, also behind a trusted proxy
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
$database = realpath(__DIR__ . '/../../../fixtures/test-city.mmdb');
sql("UPDATE sb_phpt.sb_settings SET value = JSON_SET(value, '$.\"geo-database\"', JSON_ARRAY('$database', 'text'),
    '$.\"trusted-proxies\"', JSON_ARRAY('10.0.0.0/8, 192.0.2.7', 'text')) WHERE name = 'settings'");
$_SERVER['HTTP_USER_AGENT'] = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0';
$_SERVER['HTTP_ACCEPT_LANGUAGE'] = 'nl-NL,nl;q=0.9,en;q=0.5';
$details = static fn ($user) => array_column(sb_get_user_extra($user), 'value', 'slug');

// Nobody's word for it but the connection's.
$_SERVER['REMOTE_ADDR'] = '203.0.113.9';
$_SERVER['HTTP_X_FORWARDED_FOR'] = '198.51.100.1';
show('direct', sb_user_autodata(5));
show('details', $details(5));

// The last address that is no proxy of ours: what stands before it the client may have made up.
$_SERVER['REMOTE_ADDR'] = '10.1.2.3';
$_SERVER['HTTP_X_FORWARDED_FOR'] = '198.51.100.1, 2001:db8::1, 192.0.2.7';
$lead = sb_add_user(['first_name' => 'Lea']);
sb_user_autodata($lead);
show('behind a proxy', array_intersect_key($details($lead), ['ip' => 1, 'country' => 1, 'currency' => 1, 'city' => 1]));

// What is known stays.
$_SERVER['REMOTE_ADDR'] = '203.0.113.10';
unset($_SERVER['HTTP_X_FORWARDED_FOR']);
sb_user_autodata(5);
show('known', $details(5)['ip']);
?>
--EXPECT--
direct: true
details: {"ip":"203.0.113.9","city":"Testville","country":"Netherlands","country_code":"NL","location":"Testville, Netherlands","time_zone":"Europe/Amsterdam","currency":"EUR","browser_language":"nl","browser":"Firefox","os":"Windows 10"}
behind a proxy: {"ip":"2001:db8::1","country":"Japan","currency":"JPY"}
known: "203.0.113.9"
