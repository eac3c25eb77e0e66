// The client library in Node: by server-sent events, since Node 20 has no WebSocket, and by WebSocket where there is one.
// Run by tests/feed.rs beside a server, whose address and keys the environment has. It writes into conversation 1 of user 3
// and, on its standard output, what it wants done to the server.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import vm from 'node:vm';
import { SBClient, SBError, SBF } from '../../include/js/sb-client.js';

const { SB_ENDPOINT: endpoint, SB_KEY: apiKey, SB_READER: reader } = process.env;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has something done to the server. */
async function have(what) {
  console.log(what);
  assert.equal((await lines.next()).value, 'done');
}

/** So many messages, and a moment in which no further comes. */
function collector(client) {
  const seen = [];
  let arrived = () => {};
  const stop = client.on('message', message => {
    seen.push(message.message);
    arrived();
  });
  return {
    seen,
    stop,
    async reach(count) {
      const end = Date.now() + 15_000;
      while (seen.length < count) {
        assert.ok(Date.now() < end, `${seen.length} of ${count}: ${seen}`);
        await Promise.race([new Promise(resolve => { arrived = resolve; }), new Promise(resolve => { setTimeout(resolve, 200); })]);
      }
      await new Promise(resolve => { setTimeout(resolve, 300); });
      assert.equal(seen.length, count, `${seen}`);
    },
  };
}

const opened = client => new Promise(resolve => {
  const stop = client.on('open', data => {
    stop();
    resolve(data);
  });
});

async function sends() {
  const client = new SBClient({ apiKey, endpoint: `${endpoint}/` });
  const sent = await client.sendMessage({ conversation_id: 1, user_id: 3, message: 'by number' });
  assert.deepEqual(Object.keys(sent), ['id', 'status', 'timestamp', 'conversation_id']);
  assert.deepEqual([sent.status, sent.conversation_id], ['sent', '1']);
  const page = await client.messages(1, { after: String(Number(sent.id) - 1) });
  assert.deepEqual(page.data.map(({ id, message }) => [id, message]), [[sent.id, 'by number']]);
  const refused = (promise, code, status) => assert.rejects(promise, error => {
    assert.ok(error instanceof SBError);
    assert.deepEqual([error.code, error.status], [code, status]);
    assert.ok(error.requestId);
    return true;
  });
  await refused(client.sendMessage({ conversation_id: 1, user_id: 3 }), 'required', 422);
  await refused(client.sendMessage({ conversation_id: 6, user_id: 3, message: 'foreign' }), 'conversation-not-found', 404);
  await refused(client.sendMessage({ conversation_id: 1, user_id: 7, message: 'as someone else' }), 'forbidden', 403);
  await refused(new SBClient({ apiKey: 'sb_live_nobody', endpoint }).conversations(), 'unauthorized', 401);
  assert.throws(() => new SBClient({ apiKey }), TypeError);
  client.close();
}

async function follows(transport) {
  const client = new SBClient({ apiKey, endpoint, transport });
  const messages = collector(client);
  const hello = await opened(client);
  assert.equal(hello.heartbeat, 25);
  const text = step => `${transport} ${step}`;
  for (let step = 0; step < 20; step++) {
    await client.sendMessage({ conversation_id: '1', user_id: '3', message: text(step) });
  }
  await messages.reach(20);
  assert.deepEqual(messages.seen, Array.from({ length: 20 }, (_, step) => text(step)));

  // The way is cut: what is written meanwhile follows.
  await have('cut');
  await have(`write ${transport} while cut`);
  await have('mend');
  await messages.reach(21);
  // The server is another one: what was written meanwhile is read where it is.
  await have('stop');
  await have(`write ${transport} while stopped`);
  const sending = client.sendMessage({ conversation_id: '1', user_id: '3', message: `${transport} sent to nobody` });
  await have('start');
  await sending;
  await messages.reach(23);
  assert.deepEqual(new Set(messages.seen.slice(20)), new Set([
    `${transport} while cut`, `${transport} while stopped`, `${transport} sent to nobody`,
  ]));
  // Whoever does not listen any more hears nothing.
  messages.stop();
  const later = collector(client);
  await client.sendMessage({ conversation_id: '1', user_id: '3', message: 'later' });
  await later.reach(1);
  assert.equal(messages.seen.length, 23);
  client.close();
}

async function isRefused(transport) {
  const client = new SBClient({ apiKey: reader, endpoint, transport });
  client.on('message', () => assert.fail('nothing is to come'));
  const error = await new Promise(resolve => { client.on('error', resolve); });
  assert.equal(error.code, 'forbidden');
}

/** The classic script has the same as global variables, and the login is a cookie and an entry of the storage. */
async function isClassic() {
  const script = await readFile(new URL('../../include/js/sb-client.classic.js', import.meta.url), 'utf8');
  const stored = new Map();
  const page = vm.createContext({
    document: {}, location: { protocol: 'https:' },
    localStorage: { setItem: (name, value) => stored.set(name, value), removeItem: name => stored.delete(name) },
  });
  vm.runInContext(script, page);
  assert.equal(vm.runInContext('typeof SBClient + typeof SBError + typeof SBF', page), 'functionfunctionobject');
  assert.equal(vm.runInContext("SBF.loginCookie('AbC-_1')", page), true);
  assert.equal(stored.get('sb-login'), 'AbC-_1');
  assert.match(page.document.cookie, /^sb-login=AbC-_1; .*Path=\/; SameSite=Lax; Secure$/);
  assert.equal(vm.runInContext('SBF.logout()', page), true);
  assert.equal(stored.size, 0);
  assert.match(page.document.cookie, /^sb-login=; Max-Age=0/);
  assert.deepEqual(Object.keys(SBF), ['loginCookie', 'logout']);
}

await isClassic();
await sends();
const transports = typeof WebSocket === 'function' ? ['sse', 'websocket'] : ['sse'];
for (const transport of transports) {
  await follows(transport);
  await isRefused(transport);
}
process.exit(0);
