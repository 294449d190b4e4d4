import bcrypt from 'bcrypt';
import { parentPort } from 'node:worker_threads';

/** A password to hash with a cost, or to compare with a hash. */
export type HashTask =
  | { readonly password: string; readonly cost: number }
  | { readonly password: string; readonly hash: string };
export type HashResult = { readonly value: string | boolean } | { readonly error: string };

/**
 * One task at a time. bcrypt’s synchronous functions run on this thread; the asynchronous ones would occupy the threads
 * that file system and DNS calls need.
 */
parentPort?.on('message', (task: HashTask) => {
  let result: HashResult;
  try {
    result = {
      value: 'hash' in task ? bcrypt.compareSync(task.password, task.hash) : bcrypt.hashSync(task.password, task.cost),
    };
  } catch (error) {
    result = { error: String(error) };
  }
  parentPort?.postMessage(result);
});
