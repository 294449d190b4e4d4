import pg from 'pg';
import type { Statement } from './forum.ts';
import { CONNECTIONS } from './load.ts';

/** Connections of the server's pool, so that both sides wait alike. */
const POOL = 10;

/**
 * Times a second that a bare pg client runs statements, one after the other, for as many callers at once as a load has.
 * `run` is given a connection of its own and the number of the turn.
 */
export async function repeatOn(
  databaseUrl: string,
  seconds: number,
  run: (client: pg.PoolClient, turn: number) => Promise<void>,
): Promise<number> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: POOL });
  const deadline = performance.now() + seconds * 1_000;
  let [turn, done] = [0, 0];
  const caller = async (): Promise<void> => {
    while (performance.now() < deadline) {
      const client = await pool.connect();
      try {
        await run(client, turn++);
        done++;
      } finally {
        client.release();
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: CONNECTIONS }, caller));
  } finally {
    await pool.end();
  }
  return done / seconds;
}

/** One of the statements: prepared once for each connection. */
export const repeated = (
  { text }: Statement,
  place: number,
  values: readonly unknown[],
): { readonly name: string; readonly text: string; readonly values: unknown[] } => ({
  name: `repeated${place}`,
  text,
  values: [...values],
});
