// The client library alone, with a network and a clock that do what is asked of them. Run by tests/client.rs:
//
//     node --test tests/js/alone.mjs

import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { SBClient, SBError } from '../../include/js/sb-client.js';

const options = { apiKey: 'sb_live_a', endpoint: 'https://support.example/chat' };

/** A socket to nobody: what it sends is kept, what it hears is said by the test. */
class Socket {
  static all = [];
  sent = [];
  isClosed = false;
  constructor(url) {
    this.url = url;
    Socket.all.push(this);
  }
  send(text) { this.sent.push(JSON.parse(text)); }
  close() { this.isClosed = true; }
  hear(event) { this.onmessage({ data: JSON.stringify(event) }); }
  end(code = 1006, reason = '') { this.onclose({ code, reason }); }
}

/** What was asked for, and what is answered: a response, or an error to fail with. */
let asked;
let answers;
const json = (status, body, headers = {}) => new Response(JSON.stringify(body), { status, headers });

beforeEach(() => {
  Socket.all = [];
  globalThis.WebSocket = Socket;
  [asked, answers] = [[], []];
  globalThis.fetch = async (url, request) => {
    asked.push({ url, ...request });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    const given = typeof answer === 'function' ? answer(url, request) : answer;
    if (given instanceof Error) {
      throw given;
    }
    return given;
  };
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
});

/** Lets promises that have been kept go on. */
async function settle() {
  for (let turn = 0; turn < 50; turn++) {
    await Promise.resolve();
  }
}

/** Lets time pass, and whatever waits for it happen. */
async function pass(seconds) {
  for (let tenth = 0; tenth < seconds * 10; tenth++) {
    mock.timers.tick(100);
    await settle();
  }
}

const message = (id, conversation_id = '1') => ({ id: String(id), conversation_id, message: `text ${id}`, creation_time: 'now' });

/** A client by the feed that is open, its socket, and what it was told. */
function opened(given = options) {
  const client = new SBClient(given);
  const told = [];
  for (const event of ['open', 'close', 'error', 'message', 'message.updated', 'resync', 'typing', 'greeting']) {
    client.on(event, data => told.push([event, data?.id ?? data?.code ?? null]));
  }
  const [socket] = Socket.all;
  socket.onopen?.();
  return { client, socket, told };
}

const hello = { event: 'hello', data: { heartbeat: 25, last_event_id: 'e-0' } };

test('what may not have arrived is sent again, by the same name, and only that', async () => {
  const sent = { id: '7', status: 'sent', timestamp: 't', conversation_id: '1' };
  const broken = new Response(new ReadableStream({ start: stream => stream.error(new Error('cut')) }));
  for (const first of [new TypeError('no network'), json(503, {}), json(502, {}), json(504, {}), broken, new Response('<html>')]) {
    asked = [];
    answers = [first, json(200, sent)];
    const promise = new SBClient(options).sendMessage({ conversation_id: 1, user_id: 3, message: 'a' });
    await pass(2);
    assert.deepEqual(await promise, sent);
    assert.equal(asked.length, 2);
    const [name, again] = asked.map(({ headers }) => headers['Idempotency-Key']);
    assert.ok(name.length === 32 && name === again);
  }
  for (const [status, code] of [[422, 'required'], [409, 'idempotency-conflict'], [429, 'rate-limit-exceeded'], [500, 'internal-error']]) {
    asked = [];
    answers = [json(status, { request_id: 'r', errors: [{ code, message: 'm', field: 'f' }] }, { 'Retry-After': '7' })];
    await assert.rejects(new SBClient(options).sendMessage({ conversation_id: 1, user_id: 3 }), error => {
      assert.ok(error instanceof SBError);
      assert.deepEqual([error.code, error.status, error.field, error.requestId, error.retryAfter], [code, status, 'f', 'r', 7]);
      return true;
    });
    assert.equal(asked.length, 1);
  }
});

test('what never arrives is given up, as an SBError', async () => {
  answers = [() => new TypeError('no network')];
  const promise = assert.rejects(new SBClient(options).sendMessage({ conversation_id: 1, user_id: 3 }), error => {
    assert.deepEqual([error.name, error.code, error.status, error.cause.message], ['SBError', 'unreachable', 0, 'no network']);
    return true;
  });
  await pass(4);
  await promise;
  assert.equal(asked.length, 3);
  assert.ok(asked.every(({ signal }) => signal instanceof AbortSignal));
  answers = [() => json(404, 'not even a map')];
  await assert.rejects(new SBClient(options).conversations(), { code: 'http-404', status: 404 });
});

test('it comes back later and later, from where it was, and soon again after it was open', async () => {
  const { client, socket, told } = opened();
  socket.hear(hello);
  socket.hear({ id: 'e-1', event: 'typing', data: {} });
  socket.end();
  await settle();
  assert.deepEqual(told, [['open', null], ['typing', null], ['close', null]]);
  await pass(0.5);
  const pauses = [];
  for (let failure = 0; failure < 9; failure++) {
    const before = Socket.all.length;
    const given = asked.length;
    Socket.all.at(-1).onopen?.();
    Socket.all.at(-1).end();
    answers = [() => new TypeError('no network')];
    let waited = 0;
    while (Socket.all.length === before && asked.length === given) {
      await pass(0.1);
      waited += 0.1;
    }
    pauses.push(waited);
    if (asked.length > given) {
      // Where sockets are of no use it asks by the other way, with the same place.
      assert.equal(asked.at(-1).headers['Last-Event-ID'], 'e-1');
      while (Socket.all.length === before) {
        await pass(0.1);
      }
    }
  }
  assert.equal(Socket.all[1].sent[0].last_event_id, 'e-1');
  assert.ok(pauses.at(-1) > 10 && Math.max(...pauses) < 31, `${pauses}`);
  client.close();
});

test('a connection on which nothing comes any more is left, though it never ends', async () => {
  const { client, socket, told } = opened();
  socket.hear(hello);
  await pass(50);
  socket.hear({ event: 'heartbeat', data: {} });
  await pass(60);
  assert.equal(socket.isClosed, false);
  await pass(4);
  assert.equal(socket.isClosed, true);
  assert.deepEqual(told, [['open', null], ['close', null]]);
  assert.equal(Socket.all.length, 2);
  // What it says later is nobody's concern.
  socket.hear({ id: 'e-9', event: 'message', data: message(9) });
  assert.deepEqual(told.length, 2);
  // One that does not even greet is left too.
  await pass(64);
  assert.equal(Socket.all[1].isClosed, true);
  client.close();
});

test('what was missed comes before what is new, once, and from the last conversations only', async () => {
  const { client, socket, told } = opened();
  socket.hear(hello);
  for (let conversation = 1; conversation <= 60; conversation++) {
    socket.hear({ id: `e-${conversation}`, event: 'message', data: message(conversation, String(conversation)) });
  }
  socket.hear({ id: 'e-60', event: 'message', data: message(60, '60') });
  assert.equal(told.filter(([event]) => event === 'message').length, 60);
  told.length = 0;
  let release;
  const held = new Promise(resolve => { release = resolve; });
  const page = url => json(200, { data: url.includes('/60/') ? [message(60, '60'), message(61, '60')] : [], next_cursor: null });
  globalThis.fetch = async url => {
    asked.push(url);
    await held;
    return page(url);
  };
  socket.hear({ id: 'e-70', event: 'resync', data: { last_event_id: 'e-70' } });
  socket.hear({ id: 'e-71', event: 'message', data: message(62, '60') });
  socket.hear({ id: 'e-72', event: 'resync', data: { last_event_id: 'e-72' } });
  socket.hear({ id: 'e-73', event: 'message', data: message(61, '60') });
  socket.hear({ id: 'e-74', event: 'message', data: message(63, '60') });
  await settle();
  assert.deepEqual(told, []);
  release();
  for (let turn = 0; turn < 20; turn++) {
    await settle();
  }
  assert.deepEqual(told, [['message', '61'], ['resync', null], ['message', '62'], ['resync', null], ['message', '63']]);
  assert.equal(asked.length, 2 * 50);
  // Broken off in the meantime, it would go on behind the last that came.
  socket.end();
  await pass(1);
  Socket.all[1].onopen();
  assert.equal(Socket.all[1].sent[0].last_event_id, 'e-74');
  client.close();
});

test('thousands of messages are not remembered for ever', () => {
  const { client, socket, told } = opened();
  socket.hear(hello);
  for (let id = 1; id <= 5_001; id++) {
    socket.hear({ event: 'message', data: message(id) });
  }
  told.length = 0;
  socket.hear({ event: 'message', data: message(5_001) });
  assert.deepEqual(told, []);
  // The first is forgotten.
  socket.hear({ event: 'message', data: message(1) });
  assert.deepEqual(told, [['message', '1']]);
  client.close();
});

test('one handler is not the other, and who has stopped hears nothing', () => {
  mock.timers.reset();
  const late = [];
  const { mock: after } = mock.method(globalThis, 'setTimeout', (work, delay) => delay === undefined && late.push(work));
  const { client, socket, told } = opened();
  const stop = client.on('typing', () => { throw new Error('of one handler'); });
  const later = [];
  client.on('typing', () => later.push('typing'));
  socket.hear(hello);
  socket.hear({ event: 'typing', data: {} });
  stop();
  socket.hear({ event: 'typing', data: {} });
  // For the page to hear of it, behind everything else.
  assert.equal(late.length, 1);
  assert.throws(late[0], /of one handler/);
  assert.deepEqual(later, ['typing', 'typing']);
  client.close();
  socket.hear({ event: 'typing', data: {} });
  assert.equal(later.length, 2);
  assert.equal(told.filter(([event]) => event === 'close').length, 0);
  after.restore();
});

test('a refusal is an error and the end, what passes is not', async () => {
  for (const [reason, isEnd] of [['unauthorized', true], ['forbidden', true], ['rate-limit-exceeded', false]]) {
    Socket.all = [];
    const { client, socket, told } = opened({ ...options, transport: 'websocket' });
    socket.end(1008, reason);
    await pass(31);
    assert.deepEqual(told, isEnd ? [['error', reason]] : []);
    assert.equal(Socket.all.length > 1, !isEnd);
    client.close();
  }
});

const realtime = { key: 'k', host: 'push.example', port: 443, channels: ['private-user-3', 'open-to-all'] };
const established = { event: 'pusher:connection_established', data: '{"socket_id":"1.2","activity_timeout":120}' };
const subscribed = channel => ({ event: 'pusher_internal:subscription_succeeded', channel, data: '{}' });

/** A client by a push service. */
async function pushed() {
  answers = [() => json(200, { auth: 'k:signature' })];
  const all = opened({ ...options, realtime });
  all.socket.hear(established);
  await settle();
  return all;
}

test('a push service is open when every channel is subscribed, and followed by what it keeps to itself', async () => {
  const { client, socket, told } = await pushed();
  assert.equal(socket.url, 'wss://push.example:443/app/k?protocol=7&client=sb&version=1');
  assert.deepEqual(socket.sent, [
    { event: 'pusher:subscribe', data: { channel: 'private-user-3', auth: 'k:signature' } },
    { event: 'pusher:subscribe', data: { channel: 'open-to-all' } },
  ]);
  assert.deepEqual(JSON.parse(asked[0].body), { socket_id: '1.2', channel_name: 'private-user-3' });
  socket.hear(subscribed('private-user-3'));
  assert.deepEqual(told, []);
  socket.hear(subscribed('open-to-all'));
  socket.hear({ event: 'greeting', channel: 'open-to-all', data: 'a text that is no JSON' });
  socket.hear({ event: 'message', channel: 'private-user-3', data: JSON.stringify(message(1)) });
  socket.hear({ event: 'message', channel: 'open-to-all', data: JSON.stringify(message(1)) });
  assert.deepEqual(told, [['open', null], ['greeting', null], ['message', '1']]);
  // It keeps nothing for those who were away.
  socket.end(1006);
  await pass(1);
  const page = json(200, { data: [message(1), message(2)], next_cursor: null });
  answers = [() => json(200, { auth: 'k:signature' }), page];
  const [, second] = Socket.all;
  second.hear(established);
  await settle();
  realtime.channels.forEach(channel => second.hear(subscribed(channel)));
  await settle();
  await settle();
  assert.deepEqual(told.slice(3), [['close', null], ['open', null], ['message', '2'], ['resync', null]]);
  client.close();
});

test('a push service is asked for signs of life, and one that gives none is left', async () => {
  const { client, socket } = await pushed();
  realtime.channels.forEach(channel => socket.hear(subscribed(channel)));
  for (let round = 0; round < 5; round++) {
    const before = socket.sent.length;
    await pass(25);
    assert.deepEqual(socket.sent.slice(before), [{ event: 'pusher:ping', data: {} }]);
    socket.hear({ event: 'pusher:pong', data: '{}' });
  }
  socket.hear({ event: 'pusher:ping', data: '{}' });
  assert.deepEqual(socket.sent.at(-1), { event: 'pusher:pong', data: {} });
  await pass(64);
  assert.equal(socket.isClosed, true);
  const before = socket.sent.length;
  await pass(60);
  assert.equal(socket.sent.length, before, 'it is still spoken to');
  client.close();
});

test('what a push service refuses is an error and the end, what passes is not', async () => {
  const ends = [
    [socket => socket.end(4001), true],
    [socket => socket.hear({ event: 'pusher:subscription_error', channel: 'private-user-3', data: { status: 401 } }), true],
    [socket => socket.end(4200), false],
    [socket => socket.end(1006), false],
  ];
  for (const [end, isEnd] of ends) {
    Socket.all = [];
    const { client, socket, told } = await pushed();
    end(socket);
    if (socket.isClosed) {
      socket.end(1005);
    }
    await pass(2);
    assert.deepEqual(told, isEnd ? [['error', 'forbidden']] : []);
    assert.equal(Socket.all.length > 1, !isEnd);
    client.close();
  }
  assert.throws(() => new SBClient({ ...options, realtime: { key: 'k', channels: [] } }), TypeError);
});

test('a message that was too long for the push service comes whole', async () => {
  const { client, socket, told } = await pushed();
  realtime.channels.forEach(channel => socket.hear(subscribed(channel)));
  const texts = [];
  client.on('message', ({ message }) => texts.push(message));
  answers = [json(200, { data: [{ ...message(5), message: 'the whole text' }], next_cursor: null })];
  socket.hear({ event: 'message', data: JSON.stringify({ ...message(5), message: undefined, truncated: true }) });
  socket.hear({ event: 'message', data: JSON.stringify(message(6)) });
  await settle();
  assert.deepEqual(texts, ['the whole text', 'text 6']);
  assert.match(asked.at(-1).url, /\/v1\/conversations\/1\/messages\?after=4&limit=1$/);
  assert.deepEqual(told.slice(1), [['message', '5'], ['message', '6']]);
  client.close();
});
