import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  defineAction,
  defineExtensionPoint,
  defineFilter,
  definePlugin,
  defineQuery,
  defineSurface,
  defineToken,
  Type,
  type AnonymousContext,
} from 'parley-forum';
import { defineSlot, fill, slotFillings } from 'parley-forum/plugins/web';
import { startForum, type TestForum } from 'parley-forum/testing';

const old = { deprecated: 'use the new one' };
const rang = defineAction<string>('bell.rang', old);
const tuned = defineFilter<string>('bell.tuned', 'skip', old);
const heard = defineQuery<string, boolean>('bell.heard', old);
const ropes = defineExtensionPoint<string>('bell.ropes', 'What a test adds.', old);
const Bell = defineToken<{ readonly weight: number }>('Bell', old);
const belfry = defineSlot<object>('bell.belfry', 'Above the bell.', old);
const fine = defineAction<string>('bell.fine');
const stand = defineExtensionPoint<{ readonly on: typeof belfry }>('bell.stand', 'What a test adds.', {
  about: ({ on }) => on,
});
const tower = defineSurface<AnonymousContext>('tower', { prefix: '/tower', ...old });
const yard = defineSurface<AnonymousContext, unknown, { readonly loud?: boolean; readonly late?: boolean }>('yard', {
  prefix: '/yard',
  options: { loud: 'Heard from afar.', late: 'Heard at night.' },
  deprecatedOptions: { loud: 'use the new one' },
});
const answers = {
  authenticate: () => ({ actor: undefined }),
  respond: ({ res }: { readonly res: { end(): void } }) => res.end(),
  fail: ({ res }: { readonly res: { end(): void } }) => res.end(),
};

const bell = definePlugin({
  id: 'bell',
  provides: { bell: Bell },
  hooks: [rang, tuned, heard, fine],
  extensionPoints: [ropes, stand],
  settings: Type.Object({
    'bell.tone': Type.String({ default: 'c', 'x-deprecated': 'set bell.pitch' }),
    'bell.metal': Type.String({ default: 'bronze', 'x-deprecated': 'leave it out' }),
    'bell.pitch': Type.Integer({ default: 1 }),
  }),
  setup(_services, plugin) {
    plugin.surface(tower, answers);
    plugin.surface(yard, answers);
    return { bell: { weight: 3 } };
  },
});
const ringer = definePlugin({
  id: 'ringer',
  needs: { bell: Bell },
  setup(_services, plugin) {
    plugin.on(rang, () => {});
    plugin.on(rang, () => {}, { durable: true });
    plugin.on(tuned, (value) => value);
    plugin.on(heard, () => true);
    plugin.extend(ropes, 'hemp');
    plugin.extend(stand, { on: belfry });
    plugin.route(tower, { method: 'get', path: '/up', can: 'public' })(() => {});
    plugin.route(yard, { method: 'get', path: '/round', can: 'public', options: { loud: true, late: true } })(() => {});
    plugin.on(fine, () => {});
  },
});
const quiet = definePlugin({ id: 'quiet', setup: (_services, plugin) => plugin.on(fine, () => {}) });

let running: TestForum;
beforeAll(
  async () =>
    void (running = await startForum({
      plugins: [bell, ringer, quiet],
      settings: { 'bell.tone': 'd', 'bell.pitch': 2 },
    })),
);
afterAll(() => running[Symbol.asyncDispose]());

const named = (): readonly string[] =>
  running.lines
    .filter(({ message }) => message === 'uses something deprecated')
    .map(({ plugin, deprecated, instead }) => `${String(plugin)}: ${String(deprecated)}, ${String(instead)}`);

test('a plugin that uses something deprecated is logged once with the replacement, even across restarts', async () => {
  const each = [
    'ringer: service Bell, use the new one',
    'ringer: action bell.rang, use the new one',
    'ringer: filter bell.tuned, use the new one',
    'ringer: query bell.heard, use the new one',
    'ringer: extension point bell.ropes, use the new one',
    'ringer: slot bell.belfry, use the new one',
    'ringer: surface tower, use the new one',
    'ringer: route option yard.loud, use the new one',
  ];
  expect(named()).toEqual(each);
  await running.app.kernel.restart('ringer');
  expect(named()).toEqual(each);
});

test('a deprecated setting is logged at the start if the site sets it, not otherwise', () => {
  expect(running.lines.filter(({ setting }) => setting !== undefined)).toMatchObject([
    {
      setting: 'bell.tone',
      instead: 'set bell.pitch',
      message: 'the setting bell.tone is deprecated: set bell.pitch',
    },
  ]);
});

test('a slot filling counts as a use of its slot', () => {
  expect(slotFillings.about?.(fill(belfry, () => []))).toBe(belfry);
});
