// What a program in TypeScript may do with the client library, and what the compiler keeps it from. Never run.

import { SBClient, SBError, SBF, type Message, type Page } from '../../include/js/sb-client.js';

const client = new SBClient({ apiKey: 'sb_live_a', endpoint: 'https://support.example/chat' });
new SBClient({ apiKey: 'a', endpoint: 'b', transport: 'sse', realtime: { key: 'k', host: 'h', port: 1, tls: false, channels: ['private-user-3'] } });
// @ts-expect-error: it has no endpoint
new SBClient({ apiKey: 'a' });
// @ts-expect-error: there is no such way
new SBClient({ apiKey: 'a', endpoint: 'b', transport: 'pigeon' });
// @ts-expect-error: a push service is followed by its channels
new SBClient({ apiKey: 'a', endpoint: 'b', realtime: { key: 'k' } });

const sent = await client.sendMessage({ conversation_id: 12, user_id: '3', message: 'Hello', attachments: [['a.png', 'https://a.example/a.png']] });
const texts: string[] = [sent.id, sent.status, sent.timestamp, sent.conversation_id];
// @ts-expect-error: it goes to no conversation
await client.sendMessage({ user_id: '3', message: 'Hello' });

const page: Page<Message> = await client.messages('12', { after: sent.id, limit: 10 });
const conversation = await client.openConversation({ user_id: '3', title: 'Hello', status_code: 0 });
const first = (await client.conversations({ user_id: 3 })).data[0];
texts.push(page.data[0]?.message ?? '', conversation.title, first?.conversation_status_code ?? '', page.next_cursor ?? '');

const stop: () => void = client.on('message', message => texts.push(message.message, message.conversation_id));
client.on('typing', ({ user_id, conversation_id }) => texts.push(user_id, conversation_id));
client.on('presence', ({ online }) => { const isThere: boolean = online; return isThere; });
client.on('open', ({ heartbeat }) => { const seconds: number | undefined = heartbeat; return seconds; });
client.on('resync', () => client.messages('12'));
client.on('error', error => texts.push(error.code, error.message));
client.on('an-event-of-our-own', data => { if (typeof data === 'string') texts.push(data); });
// @ts-expect-error: a message is no text
client.on('message', (message: string) => texts.push(message));
stop();

try {
  await client.sendMessage({ conversation_id: '12', user_id: '3' });
} catch (error) {
  if (error instanceof SBError) {
    const wait: number = error.retryAfter ?? error.status;
    texts.push(error.code, error.field ?? '', error.requestId ?? '', ...error.errors.map(one => one.code), String(wait));
  }
}
client.close();

const isDone: true = SBF.loginCookie('data') && SBF.logout();
export default [texts, isDone, new SBError('unreachable', 'nobody answers', { status: 0 })];
