import { open } from 'node:fs/promises';
import { ConfigurationError } from 'parley-forum';

export interface TextLine {
  /** From 1, as editors count. */
  readonly number: number;
  readonly text: string;
}

/** The lines of a file that say something, one after the other. Throws where it cannot be read. */
export async function* readLines(path: string): AsyncGenerator<TextLine> {
  await using file = await open(path).catch((error: unknown) => {
    throw new ConfigurationError(`${path} cannot be read`, { cause: error });
  });
  let number = 0;
  for await (const text of file.readLines()) {
    number++;
    if (text.trim() !== '') yield { number, text };
  }
}
