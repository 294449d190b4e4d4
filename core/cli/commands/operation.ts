import type { App } from '../../host/app.ts';
import { operated } from '../command.ts';

/** What a command does with a plugin. */
export interface Operation {
  readonly done: 'enabled' | 'disabled' | 'uninstalled' | 'removed';
  readonly id: string;
  readonly others?: readonly string[];
  /** `work` says why without having begun: there is nothing to tell. */
  readonly refused?: boolean;
}

/** Tells it before it is done, since no transaction holds it, and afterwards where it failed. */
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
