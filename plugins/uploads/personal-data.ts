import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { sql, ZERO_ID, type Data } from 'parley-forum';
import { readInBatches, jsonList, type PersonalData } from 'parley-forum/ports/personal-data';
import type { FileStorage } from './storage/file-storage.ts';
import { urlFileName } from './processing/file-names.ts';
import type { Uploads } from './uploads.ts';

interface Row {
  readonly id: string;
  readonly purpose: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly created_at: Date;
}
interface Parts {
  readonly data: Data;
  readonly files: FileStorage;
  readonly uploads: Uploads;
}

/**
 * A member's files and their bytes. All are erased with the account, including those in posts, since pictures show
 * people; only files used in settings stay.
 */
export const uploadsData = ({ data, files, uploads }: Parts): PersonalData => ({
  name: 'uploads',
  async *entries(accountId) {
    const rows = (): AsyncIterable<Row> =>
      readInBatches<Row>((after, limit) =>
        data.all(sql<Row>`select id, purpose, name, type, size, created_at from upload
      where account_id = ${accountId} and id > ${after?.id ?? ZERO_ID} order by id limit ${limit}`),
      );
    yield { path: 'uploads.json', content: jsonList(rows()) };
    for await (const { id, name } of rows()) {
      const path = files.pathOf(id);
      // It may have been deleted since the list was started.
      if (await stat(path).catch(() => undefined))
        yield { path: `uploads/${id}-${urlFileName(name)}`, content: createReadStream(path) };
    }
  },
  erase: (accountId) => uploads.removeAll(accountId),
});
