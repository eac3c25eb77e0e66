// A user signs up, writes, and reads what was written.
//
//     npm ci && node conversation.mjs '{"db_name": …, "db_user": …, …}'

import { Library, SBError } from './sb.mjs';

const sb = new Library(JSON.parse(process.argv[2]), process.env.SB_LIBRARY);
console.log(`sb ${sb.version}`);

const user = sb.call('sb_add_user', [
  { first_name: 'Ann', email: 'ann@example.com' },
  { phone: ['+1 555 0100', 'Phone'] },
]);
if (user === 'duplicate-email') {
  console.error('Please log in.');
  process.exit(1);
}

const opened = sb.call('sb_new_conversation', { user_id: user, status_code: 2, title: 'Where is my order?' });
const conversation = opened.details.id;
sb.call('sb_send_message', [user, conversation, 'Hello! 👋', [['invoice.pdf', 'https://example.com/invoice.pdf']]]);

for (const message of sb.call('sb_get_new_messages', [user, conversation, 0])) {
  console.log(`${message.first_name}: ${message.message}`);
}

try {
  sb.call('sb_delete_user', [user]);
} catch (error) {
  if (!(error instanceof SBError)) throw error;
  console.log(error.code);
}
sb.close();
