// The client library in a browser: it sends, follows, and comes back, whatever way the events come. Run by tests/client.rs,
// which does what this writes on its standard output, and says so.
//
//     node client.mjs ENDPOINT feed
//     node client.mjs ENDPOINT push HOST PORT KEY

import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { chromium } from 'playwright-core';

const [endpoint, way, host, port, key] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has something done: written, stopped, started. Gives what there is to say of it. */
async function have(what) {
  console.log(what);
  const [word, ...rest] = (await lines.next()).value.split(' ');
  assert.equal(word, 'done', what);
  return rest;
}

const pages = createServer((request, response) => {
  if (request.url === '/') {
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html><link rel="icon" href="data:,"><script src="/sb-client.classic.js"></script>');
  } else {
    response.setHeader('Content-Type', 'text/javascript');
    createReadStream(join(process.env.SB_CLIENT, request.url)).pipe(response);
  }
});
await new Promise(resolve => { pages.listen(0, '127.0.0.1', resolve); });
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });

/** Someone with a page of the own, on which a client follows. */
async function someone(apiKey, options, isClassic = false) {
  const page = await browser.newPage();
  const faults = [];
  page.on('console', message => ['error', 'warning'].includes(message.type()) && faults.push(message.text()));
  page.on('pageerror', error => faults.push(String(error)));
  await page.goto(`http://127.0.0.1:${pages.address().port}/`);
  await page.evaluate(async ([options, isClassic]) => {
    const Client = isClassic ? SBClient : (await import('/sb-client.js')).SBClient;
    window.client = new Client(options);
    window.seen = [];
    window.told = [];
    window.times = {};
    client.on('message', message => {
      seen.push(message.message);
      times[message.message] = Date.now();
    });
    for (const event of ['open', 'close', 'resync', 'error', 'presence', 'greeting']) {
      client.on(event, data => told.push({ event, data, code: data?.code }));
    }
  }, [{ apiKey, endpoint, ...options }, isClassic]);
  return {
    told: (event, fields = {}) => page.waitForFunction(([event, fields]) => {
      const has = given => Object.entries(fields).every(([name, value]) => given?.[name] === value);
      return told.some(one => one.event === event && has(one.data));
    }, [event, fields], { timeout: 20_000 }),
    forget: () => page.evaluate(() => { told.length = 0; }),
    send: message => page.evaluate(message => client.sendMessage({ conversation_id: '1', user_id: '3', message }), message),
    /** These messages came, in this order, and no other. */
    async saw(expected, moment = 300) {
      const count = expected.length;
      await page.waitForFunction(count => seen.length >= count, count, { timeout: 20_000 })
        .catch(async error => assert.fail(`${error.message}\n${await page.evaluate(() => JSON.stringify([seen, told]))}`));
      await pause(moment);
      assert.deepEqual(await page.evaluate(() => seen), expected);
    },
    times: () => page.evaluate(() => times),
    code: () => page.evaluate(() => told.find(one => one.event === 'error').code),
    /** That nobody answered for a while is all that the browser has to say. */
    isWell(further = /^$/) {
      const others = faults.filter(text => !/ERR_CONNECTION|ERR_INCOMPLETE|WebSocket connection/.test(text));
      assert.deepEqual(others.filter(text => !further.test(text)), []);
    },
    close: () => page.close(),
  };
}

/** One who sends and all who follow, through an outage of what carries the events. */
async function follow(name, sender, all) {
  const expected = [];
  const everyoneSaw = () => Promise.all(all.map(one => one.saw(expected)));
  const write = async text => {
    expected.push(text);
    await have(`write ${text}`);
  };
  await Promise.all(all.map(one => one.told('open')));
  await write(`${name}: by the library`);
  await everyoneSaw();
  expected.push(`${name}: by the API`);
  await sender.send(expected.at(-1));
  await everyoneSaw();
  await write(`${name}: long ${'x'.repeat(30_000)}`);
  await everyoneSaw();
  for (let step = 0; step < 20; step++) {
    await write(`${name}: number ${step}`);
  }
  await everyoneSaw();
  await isFast(sender, expected);
  await everyoneSaw();
  await Promise.all(all.map(one => one.forget()));
  await have('stop');
  await Promise.all(all.map(one => one.told('close')));
  await write(`${name}: while it was away`);
  await write(`${name}: and another`);
  await have('start');
  await Promise.all(all.map(one => one.told('open')));
  await Promise.all(all.map(one => one.told('resync')));
  await everyoneSaw();
  await have('deliver');
  await write(`${name}: after`);
  await everyoneSaw();
  all.forEach(one => one.isWell());
  await Promise.all(all.map(one => one.close()));
}

/** From the commit to the handler in the page. */
async function isFast(someone, expected) {
  const durations = [];
  for (let step = 0; step < 60; step++) {
    expected.push(`step ${step}`);
    const [committed] = await have(`write ${expected.at(-1)}`);
    await someone.saw(expected, 0);
    durations.push((await someone.times())[expected.at(-1)] - Number(committed));
    await pause(3 + step % 7);
  }
  durations.sort((one, other) => one - other);
  console.log(`took ${durations[30].toFixed(1)}`);
  await lines.next();
}

try {
  if (way === 'feed') {
    const carla = await someone('sb_live_carla', { transport: 'websocket' });
    await follow('WebSocket', carla, [carla, await someone('sb_live_ben', { transport: 'sse' }, true)]);
    const refused = await someone('sb_live_reader', {});
    await refused.told('error');
    assert.equal(await refused.code(), 'forbidden');
  } else {
    const by = (...channels) => ({ realtime: { key, host, port: Number(port), tls: false, channels } });
    const carla = await someone('sb_live_carla', by('private-user-3', 'private-conversation-1', 'presence-users'));
    const ben = await someone('sb_live_ben', by('presence-agents'), true);
    await carla.told('presence', { user_id: '3', online: true });
    await ben.told('presence', { user_id: '2', user_type: 'agent', online: true });
    await have('see who is there');
    // An event of the installation's own, whose data is no map.
    await have('trigger');
    await carla.told('greeting');
    const emil = await someone('sb_live_emil', by('private-user-7'));
    await follow('push service', carla, [carla, ben]);
    await emil.saw([]);
    emil.isWell();
    for (const [channel, code] of [['private-user-3', 'forbidden'], ['private-conversation-1', 'conversation-not-found']]) {
      const refused = await someone('sb_live_emil', by(channel));
      await refused.told('error');
      assert.equal(await refused.code(), code);
      refused.isWell(/the server responded with a status of 40[34]/);
    }
  }
} finally {
  await browser.close();
  pages.close();
}
process.exit(0);
