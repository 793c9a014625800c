/** The one page there is, in a real browser. Needs Debian's chromium; says so where it is not installed. */
import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_SECRET, type RunningServer, startServer } from '../fixtures/running-server.ts';

const CHROMIUM = '/usr/bin/chromium';
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

it.skipIf(existsSync(CHROMIUM))('chromium is not installed: the page was not tried', () => {
  expect(existsSync(CHROMIUM)).toBe(false);
});

describe.runIf(existsSync(CHROMIUM))('GraphiQL', () => {
  let server: RunningServer;
  let browser: Browser;
  let page: Page;
  const requested = new Set<string>();

  beforeAll(async () => {
    server = await startServer({ issuer: 'http://127.0.0.1:8080' });
    await server.token('rubbish');
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
    page = await browser.newPage();
    page.on('request', (request) => requested.add(new URL(request.url()).origin));
    await page.goto(`${server.url}/graphql`);
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  const execute = () => page.getByRole('button', { name: /execute query/i }).click();

  it('refuses to show anything without the admin secret', async () => {
    await execute();
    await expect.poll(() => page.locator('.graphiql-response').textContent()).toContain('UNAUTHENTICATED');
  });

  it('answers its first query, the refused requests, once the secret is typed in', async () => {
    await page.locator('.graphiql-editor-tool .monaco-editor').last().click();
    // As a person would: to the placeholder in the second line, and over it. The editor closes brackets by itself.
    for (const key of ['Control+Home', 'ArrowDown', 'End', 'ArrowLeft']) await page.keyboard.press(key);
    for (const _character of '<admin secret>') await page.keyboard.press('Backspace');
    await page.keyboard.insertText(ADMIN_SECRET);
    await execute();
    await expect.poll(() => page.locator('.graphiql-response').textContent()).toContain('assertion_malformed');
  });

  it('loads nothing from anywhere else, and keeps the secret out of the browser’s storage', async () => {
    expect([...requested].filter((origin) => origin !== 'null')).toEqual([server.url]);
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain(ADMIN_SECRET);
  });
});
