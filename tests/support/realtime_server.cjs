// Stands in for a server of the realtime protocol (Pusher Channels, protocol 7) where no real one is built: connections,
// subscriptions with their signatures, members of presence channels, and the calls of servers. The service's own clients
// and a server that others have made are held to the same tests.
//
//   realtime_server.cjs PORT APP-ID KEY SECRET
'use strict';
const { createHash, createHmac, timingSafeEqual } = require('node:crypto');
const { createServer } = require('node:http');
const { WebSocketServer } = require('ws');

const [port, appId, key, secret] = process.argv.slice(2);
/** How many bytes of data an event may have. */
const LIMIT = 10 * 1024;
/** Seconds by which a server's clock may be off. */
const GRACE = 600;

const signature = text => createHmac('sha256', secret).update(text).digest('hex');
const isSame = (one, other) => one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

/** Who is subscribed to a channel: by connection, what the others see of it. */
const channels = new Map();
const subscribers = channel => channels.get(channel) ?? new Map();
const isPresence = channel => channel.startsWith('presence-');

function tell(connection, event, data, channel) {
  connection.send(JSON.stringify({ event, channel, data: typeof data === 'string' ? data : JSON.stringify(data) }));
}

function members(channel) {
  return new Map([...subscribers(channel).values()].map(({ user_id, user_info }) => [String(user_id), user_info ?? {}]));
}

function subscribe(connection, { channel, auth = '', channel_data }) {
  if (/^(private|presence)-/.test(channel)) {
    const signed = [connection.id, channel, ...(isPresence(channel) ? [channel_data] : [])].join(':');
    if (!isSame(String(auth), `${key}:${signature(signed)}`)) {
      const data = { type: 'AuthError', error: 'the signature is another', status: 401 };
      connection.send(JSON.stringify({ event: 'pusher:subscription_error', channel, data }));
      return;
    }
  }
  const member = isPresence(channel) ? JSON.parse(channel_data) : {};
  const before = members(channel);
  channels.set(channel, subscribers(channel).set(connection, member));
  if (!isPresence(channel)) {
    tell(connection, 'pusher_internal:subscription_succeeded', {}, channel);
    return;
  }
  const all = members(channel);
  const presence = { count: all.size, ids: [...all.keys()], hash: Object.fromEntries(all) };
  tell(connection, 'pusher_internal:subscription_succeeded', { presence }, channel);
  if (!before.has(String(member.user_id))) {
    tellOthers(connection, channel, 'pusher_internal:member_added', member);
  }
}

function unsubscribe(connection, channel) {
  const member = subscribers(channel).get(connection);
  if (member && subscribers(channel).delete(connection) && isPresence(channel) && !members(channel).has(String(member.user_id))) {
    tellOthers(connection, channel, 'pusher_internal:member_removed', { user_id: member.user_id });
  }
}

function tellOthers(connection, channel, event, data) {
  [...subscribers(channel).keys()].filter(other => other !== connection).forEach(other => tell(other, event, data, channel));
}

/** What a server asks for, and is answered: a status, and a map or the reason of the refusal. */
function asked(method, url, body) {
  const query = Object.fromEntries(url.searchParams);
  const { auth_signature = '', ...signed } = query;
  const text = Object.keys(signed).sort().map(name => `${name}=${signed[name]}`).join('&');
  const isOwn = signed.auth_key === key && isSame(auth_signature, signature(`${method}\n${url.pathname}\n${text}`));
  const isOfNow = Math.abs(Date.now() / 1000 - Number(signed.auth_timestamp)) < GRACE;
  const isWhole = body === '' || signed.body_md5 === createHash('md5').update(body).digest('hex');
  if (!isOwn || !isOfNow || !isWhole) {
    return [401, 'the signature is another'];
  }
  const [, apps, id, what, channel, users] = url.pathname.split('/');
  if (apps !== 'apps' || id !== appId) {
    return [404, 'there is no such application'];
  }
  if (method === 'POST' && what === 'events') {
    return trigger(JSON.parse(body));
  }
  if (method === 'GET' && what === 'channels' && users === 'users') {
    return isPresence(channel) ? [200, { users: [...members(channel).keys()].map(id => ({ id })) }] : [400, 'no presence channel'];
  }
  return [404, 'there is no such thing'];
}

function trigger({ name, channel, channels = [channel], data }) {
  if (Buffer.byteLength(data) > LIMIT) {
    return [413, 'the data is too long'];
  }
  for (const channel of channels) {
    [...subscribers(channel).keys()].forEach(connection => tell(connection, name, data, channel));
  }
  return [200, {}];
}

const server = createServer((request, response) => {
  const parts = [];
  request.on('data', part => parts.push(part));
  request.on('end', () => {
    const [status, answer] = asked(request.method, new URL(request.url, 'http://localhost'), Buffer.concat(parts).toString());
    response.statusCode = status;
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  });
});
let count = 0;
new WebSocketServer({ server }).on('connection', (connection, request) => {
  if (!request.url.startsWith(`/app/${key}?`)) {
    connection.close(4001, 'there is no such application');
    return;
  }
  connection.id = `${process.pid}.${++count}`;
  tell(connection, 'pusher:connection_established', { socket_id: connection.id, activity_timeout: 120 });
  connection.on('message', text => {
    const { event, data } = JSON.parse(text);
    if (event === 'pusher:ping') {
      tell(connection, 'pusher:pong', {});
    } else if (event === 'pusher:subscribe') {
      subscribe(connection, data);
    } else if (event === 'pusher:unsubscribe') {
      unsubscribe(connection, data.channel);
    }
  });
  connection.on('close', () => [...channels.keys()].forEach(channel => unsubscribe(connection, channel)));
});
server.listen(Number(port), '127.0.0.1');
