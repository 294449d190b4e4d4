import { defineAction, defineToken, type Console } from 'parley-forum';

export interface Amounts {
  readonly discussions: number;
  /** First posts included; every discussion has at least its first. */
  readonly posts: number;
  readonly users: number;
}

/** Adds what is made by machine. */
export interface Seeder {
  seed(amounts: Amounts, console: Pick<Console, 'print' | 'progress' | 'columns'>): Promise<void>;
}
export const Seeder = defineToken<Seeder>('Seeder');

/** Somebody at the shell is about to add members and texts made by machine. */
export const contentSeeded = defineAction<Amounts>('demo.content-seeded');
