import type { App } from '../../host/app.ts';
import { operated } from '../command.ts';

/** An operation of a command on a plugin. */
export interface Operation {
  readonly done: 'enabled' | 'disabled' | 'uninstalled' | 'removed';
  readonly id: string;
  readonly others?: readonly string[];
  /** `work` throws the reason without having changed anything, so there is nothing to announce. */
  readonly refused?: boolean;
}

/** Announces the operation before it runs, since no transaction covers it, and again if it fails. */
export async function operate<T>(
  { hooks }: App,
  { done, id, others = [], refused = false }: Operation,
  work: () => Promise<T>,
): Promise<T> {
  if (refused) return work();
  await hooks.emit(operated, { done, subject: id, others });
  try {
    return await work();
  } catch (error) {
    await hooks.emit(operated, { done: 'stayed', subject: id });
    throw error;
  }
}
