<?php
/**
 * Makes the people of the example, and what they said before it begins: prints the ids of the visitor and the agent.
 *
 * Run by examples/chat/run, which puts it into an installation; its argument is the address of the page.
 */

include __DIR__ . '/../include/functions.php';

/** Gives a result back, or ends when it is an error. */
function done($result)
{
    if ($result === false || is_string($result) && !is_numeric($result) || sb_is_error($result)) {
        fwrite(STDERR, (is_object($result) ? $result : var_export($result, true)) . "\n");
        exit(1);
    }
    return $result;
}

function person(string $first_name, string $last_name, string $user_type): string
{
    $email = strtolower("$first_name@") . ($user_type === 'agent' ? 'support.example' : 'mail.example');
    return done(sb_add_user(compact('first_name', 'last_name', 'user_type', 'email')));
}

function conversation(string $user, string $title, array $messages): void
{
    $id = done(sb_new_conversation($user, 0, $title))['details']['id'];
    foreach ($messages as [$author, $text]) {
        done(sb_send_message($author, $id, $text));
    }
}

$GLOBALS['SB_FORCE_ADMIN'] = true;
done(sb_save_settings(['api-allowed-origins' => [$argv[1], 'text'], 'api-rate-limit' => ['6000', 'number']]));
$GLOBALS['SB_FORCE_ADMIN'] = false;

$agent = person('Katherine', 'Johnson', 'agent');
$ida = person('Ida', 'Rhodes', 'user');
$hedy = person('Hedy', 'Lamarr', 'user');
$visitor = person('Grace', 'Hopper', 'user');

conversation($ida, 'Invoice', [
    [$ida, 'Hi! Could you send me the invoice for March once more?'],
    [$agent, 'Of course, here it comes. Anything else I can do?'],
    [$ida, 'That was all. Thank you 🙏'],
]);
conversation($hedy, 'Delivery abroad', [
    [$hedy, 'Do you deliver to Austria? And how long does it take?'],
]);

echo "$visitor $agent\n";
