import type { TestPlace } from '../../kit/database.ts';
import type { Copies } from './prepared.ts';

/** Where a fault is tried: on which database, and how thoroughly. */
export interface Ground {
  readonly database: 'embedded' | 'server';
  /** False: the short form, for every run of the tests. */
  readonly long: boolean;
  /** REDIS_URL of a server that is not touched; undefined where there is none. */
  readonly redis: string | undefined;
  /** Forums to hurt. */
  readonly forums: Copies;
  /** A place for one that has to be installed first, removed by whoever asked for it. */
  place(): Promise<TestPlace>;
}

export interface Outcome {
  /** What was done, with its figures. */
  readonly tried: string;
  /** What was not as promised, one line each. */
  readonly lost: readonly string[];
}

export interface Scenario {
  /** A word, for `--only`. */
  readonly id: string;
  readonly name: string;
  /** Why it cannot be tried there; undefined where it can. */
  leftOut(ground: Ground): string | undefined;
  run(ground: Ground): Promise<Outcome>;
}

export interface Row {
  readonly name: string;
  readonly database: string;
  readonly tried: string;
  readonly lost: string;
}

/** As a table of Markdown, which the documentation keeps. */
export function table(rows: readonly Row[]): string {
  const lines = rows.map(({ name, database, tried, lost }) => `| ${name} | ${database} | ${tried} | ${lost} |`);
  return ['| Fault | Database | What was tried | Lost |', '|---|---|---|---|', ...lines].join('\n');
}

/** Tries one and says how it went; what it throws counts as lost. */
export async function tryOut(scenario: Scenario, ground: Ground): Promise<Outcome> {
  try {
    return await scenario.run(ground);
  } catch (error) {
    return { tried: 'it broke off', lost: [error instanceof Error ? (error.stack ?? error.message) : String(error)] };
  }
}
