import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from 'parley-forum/testing';
import { startServer, type ServerProcess } from '../../core/fixtures/server-process.ts';
import { makeTestPlace, type TestPlace } from '../../kit/database.ts';
import { migrated } from '../../kit/migrated.ts';
import { installing, openSite, PASSWORD, type Installing } from './site.ts';

/** Allows for real processes on a busy machine. */
const LONG = 120_000;

describe('the program as npm start runs it', () => {
  let place: TestPlace;
  let server: ServerProcess | undefined;
  beforeAll(async () => void (place = await makeTestPlace(migrated())), LONG);
  afterAll(async () => {
    await server?.end('SIGKILL').catch(() => undefined);
    await place?.remove();
  });

  const linkIn = ({ output }: ServerProcess): string =>
    /http:\/\/forum\.test(\/install\?token=\S+)/.exec(output)?.[1] ?? '';

  async function start(): Promise<Installing> {
    server = await startServer(place);
    const client = createClient(server.url);
    await expect.poll(() => server?.output).toMatch(/\/install\?token=\S+/);
    expect((await client.get(linkIn(server))).status).toBe(303);
    return installing(client);
  }

  test(
    'starts over with a new link after being killed during the installation, which then succeeds',
    async () => {
      const { ready, install, client } = await start();
      const link = linkIn(server!);
      await ready();
      expect(
        (await install({ demo: '1', password: 'Another-boat 8', password_confirmation: 'Another-boat 8' })).status,
      ).toBe(303);
      expect((await client.get('/install/progress')).status).toBe(200);
      await server!.end('SIGKILL');
      const second = await start();
      expect((await createClient(server!.url).get(link)).status).toBe(401);
      await second.ready();
      expect((await second.install()).status).toBe(303);
      await createClient(server!.url).login('ada', PASSWORD);
      expect(await server!.end('SIGTERM')).toEqual({ code: 0, signal: null });
    },
    LONG,
  );

  test('prints how to install and stops when there is no installer, as in safe mode', async () => {
    await expect(openSite({ variables: { SAFE_MODE: '1' } })).rejects.toThrow(
      'Nothing is installed here yet. Install with\n\n  npm run parley -- install',
    );
  });
});
