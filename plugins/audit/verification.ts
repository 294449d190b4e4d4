import { sql, type Data } from 'parley-forum';
import type { VerificationResult } from 'parley-forum/plugins/audit';
import { FORGOTTEN } from './retention.ts';
import { BEGINNING, type Seals, type Unsealed } from './seals.ts';

/** Entries per query. */
const CHUNK = 1_000;

interface Row extends Unsealed {
  readonly position: number;
  readonly previous: string;
  readonly seal: string;
}

/** Checks that every entry is unaltered and that none is missing between the first and the last. */
export async function verify(data: Data, seals: Seals): Promise<VerificationResult> {
  const seal = await seals.open();
  let [position, entries, previous] = [0, 0, await beginning(data)];
  for (;;) {
    const rows = await data.all(sql<Row>`select position, id, action, actor, subject_type as "subjectType",
        subject_id as "subjectId", address, details,
      created_at as "createdAt", previous, seal from audit_entry
        where position > ${position} order by position limit ${CHUNK}`);
    for (const row of rows) {
      if (row.previous !== previous || row.seal !== seal(row, row.previous)) return { entries, broken: row.position };
      [position, previous, entries] = [row.position, row.seal, entries + 1];
    }
    if (rows.length < CHUNK) return { entries, broken: undefined };
  }
}

/** The seal before the first stored entry: that of the last deleted one, as recorded in the log itself. */
async function beginning(data: Data): Promise<string> {
  const row = await data.one(sql<{ seal: string }>`
    select details->>'last_seal' as seal from audit_entry where action = ${FORGOTTEN} order by position desc limit 1`);
  return row?.seal ?? BEGINNING;
}
