// Drives the page of examples/chat: what one side writes the other sees, at once and also after the server was away.
//
//     node chat.mjs URL PID-FILE-OF-THE-SERVER FOLDER-FOR-PICTURES

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { chromium } from 'playwright-core';

const [url, pidFile, pictures] = process.argv.slice(2);
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });

try {
  await drive(browser);
} finally {
  await browser.close();
}

async function drive(browser) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 860 }, colorScheme: 'light' });
  const faults = [];
  page.on('console', message => ['error', 'warning'].includes(message.type()) && faults.push(message.text()));
  page.on('pageerror', error => faults.push(String(error)));
  await page.goto(url);
  await page.waitForSelector('body[data-ready]');
  const [visitor, agent] = [side(page, '#visitor'), side(page, '#agent')];
  await visitor.isConnected();
  await agent.isConnected();
  await page.screenshot({ path: `${pictures}/chat-first.png` });
  await isAccessible(page);

  // The visitor begins; the agent finds it in the inbox.
  await visitor.writes('Hello! Does the telescope come with a tripod?');
  await agent.opens('Grace Hopper');
  await agent.sees('Hello! Does the telescope come with a tripod?');
  await agent.writes('Hello Grace! Yes, a sturdy one is in the box 🔭');
  await visitor.sees('Hello Grace! Yes, a sturdy one is in the box 🔭');
  // What is written stays text.
  await visitor.writes('Wonderful.\nAnd <b>how long</b> does delivery take?');
  await agent.sees('Wonderful.\nAnd <b>how long</b> does delivery take?');
  await agent.writes('Two days, to your door.');
  await visitor.sees('Two days, to your door.');
  await page.getByText('Read').first().waitFor();
  await pause(500);
  await page.screenshot({ path: `${pictures}/chat.png` });
  await isAccessible(page);
  assert.deepEqual(faults, []);

  // By the keyboard alone: from the inbox to the answer, also while the inbox changes.
  await page.getByRole('button', { name: 'Hedy Lamarr' }).focus();
  await visitor.says('is it blue?');
  await agent.hears('is it blue?');
  assert.match(await page.evaluate(() => document.activeElement.textContent), /Hedy Lamarr/);
  await page.keyboard.press('Enter');
  await agent.sees('Do you deliver to Austria? And how long does it take?');
  await page.waitForFunction(() => document.activeElement.id === 'agent-text');
  await page.keyboard.type('Yes, in four days.');
  await page.keyboard.press('Enter');
  await agent.sees('Yes, in four days.');
  await agent.opens('Grace Hopper');
  await agent.sees('is it blue?');

  // Many at once keep their order, and none comes twice.
  const burst = Array.from({ length: 20 }, (_, step) => `number ${step}`);
  for (const text of burst) {
    await visitor.writes(text);
  }
  await agent.sees(burst.at(-1));
  assert.deepEqual((await agent.texts()).slice(-burst.length), burst);
  assert.equal(await isLarger(page), false, 'the page is larger than the screen');

  // The server ends, and begins again: until then both sides say so, and then go on.
  process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGTERM');
  await visitor.isReconnecting();
  await agent.isReconnecting();
  await page.screenshot({ path: `${pictures}/chat-reconnecting.png` });
  await visitor.writes('written while the server was away');
  await visitor.isConnected();
  await agent.isConnected();
  await agent.sees('written while the server was away');
  await agent.writes('and answered');
  await visitor.sees('and answered');
  for (const { texts } of [visitor, agent]) {
    const shown = await texts();
    assert.equal(new Set(shown).size, shown.length, `twice: ${shown}`);
  }
  // That nobody answered meanwhile is all that the browser has to say.
  const others = faults.filter(text => !/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|WebSocket connection/.test(text));
  assert.deepEqual(others, []);

  // What cannot be sent says so, and can be sent again.
  await page.route('**/v1/messages', route => route.abort());
  await visitor.says('to nobody, at first');
  const again = page.getByRole('button', { name: 'Try again' });
  await again.waitFor();
  await page.screenshot({ path: `${pictures}/chat-failed.png` });
  await isAccessible(page);
  await page.unroute('**/v1/messages');
  await again.click();
  await agent.sees('to nobody, at first');
  assert.equal(await again.count(), 0);

  // On a small screen, in the dark.
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 390, height: 844 });
  await pause(500);
  await isAccessible(page);
  assert.equal(await isLarger(page, 'Width'), false, 'the page is wider than the screen');
  await page.screenshot({ path: `${pictures}/chat-small.png`, fullPage: true });
}

/** Whether the rules that a program can check hold: names, contrast, the keyboard. */
async function isAccessible(page) {
  if (!await page.evaluate(() => 'axe' in window)) {
    await page.addScriptTag({ path: createRequire(import.meta.url).resolve('axe-core') });
  }
  const { passes, violations } = await page.evaluate(() => axe.run());
  assert.ok(passes.some(({ id }) => id === 'color-contrast'), 'nothing was checked');
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(node => `${node.html} ${node.failureSummary}`)]), []);
}

/** Whether the page is larger than the screen. */
function isLarger(page, ...sides) {
  const larger = sides => sides.some(side => document.documentElement[`scroll${side}`] > document.documentElement[`client${side}`]);
  return page.evaluate(larger, sides.length ? sides : ['Width', 'Height']);
}

/** One side of the page. */
function side(page, selector) {
  const place = page.locator(selector);
  const bubbles = place.locator('.bubble');
  const status = text => place.locator('[data-status]', { hasText: text }).waitFor({ timeout: 15_000 });
  return {
    isConnected: () => status(/online|answers/),
    isReconnecting: () => status('reconnecting'),
    texts: () => bubbles.evaluateAll(all => all.map(bubble => bubble.textContent)),
    /** Something that another field has the focus for. */
    says: text => place.locator('form').evaluate((form, text) => {
      form.querySelector('textarea').value = text;
      form.requestSubmit();
    }, text),
    async writes(text) {
      await place.locator('textarea').fill(text);
      await place.locator('textarea').press('Enter');
      await place.locator('.bubble.own:not(.sending)', { hasText: text.split('\n')[0] }).first().waitFor({ timeout: 15_000 });
    },
    sees: text => bubbles.filter({ hasText: text.split('\n').at(-1) }).first().waitFor({ timeout: 15_000 }),
    hears: text => place.locator('[data-inbox] p', { hasText: text }).waitFor({ timeout: 15_000 }),
    opens: name => place.getByRole('button', { name }).click({ timeout: 15_000 }),
  };
}
