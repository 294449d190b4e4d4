import { defineAction, defineToken, type Console } from 'parley-forum';

export interface Amounts {
  readonly discussions: number;
  /** Includes first posts; every discussion has at least its first post. */
  readonly posts: number;
  readonly users: number;
}

/** Adds generated content. */
export interface Seeder {
  seed(amounts: Amounts, console: Pick<Console, 'print' | 'progress' | 'columns'>): Promise<void>;
}
export const Seeder = defineToken<Seeder>('Seeder');

/** An operator on the command line is about to add generated members and texts. */
export const contentSeeded = defineAction<Amounts>('demo.content-seeded');
