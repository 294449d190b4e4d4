import bcrypt from 'bcrypt';
import { parentPort } from 'node:worker_threads';

/** A password to be hashed at a cost, or to be compared with a hash. */
export type HashTask =
  | { readonly password: string; readonly cost: number }
  | { readonly password: string; readonly hash: string };
export type HashResult = { readonly value: string | boolean } | { readonly error: string };

/**
 * One task at a time. bcrypt’s synchronous calls stay on this thread; its asynchronous ones would take threads that
 * files and DNS need.
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
