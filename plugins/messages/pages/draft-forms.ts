import { sql, type Data } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { sendMessages } from 'parley-forum/plugins/messages';
import type { DraftForm, DraftForms } from 'parley-forum/ports/drafts';
import { pathOf } from '../records.ts';
import { editPath, NEW } from './shared.ts';

/** Draft keys: of a new message, possibly with a recipient; of a reply, with its conversation; of an edited message. */
const KEY = /^message-(?:(new)(?:-[^\s/]{1,64})?|(edit-)?([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}))$/;

interface DraftFormsDeps {
  readonly data: Data;
  readonly access: Access;
}
interface Place {
  readonly id: string;
  readonly subject: string;
}
const titled = (subject: string): string | null => (subject === '' ? null : subject);

/** The forms in which messages are written, as far as the viewer may use them. */
export const messageDraftForms = ({ data, access }: DraftFormsDeps): DraftForms => ({
  kind: 'message',
  label: 'messages:draft',
  async find(keys, viewer) {
    const parsed = keys.flatMap((key) => {
      const [all, isNew, edits, id = ''] = KEY.exec(key) ?? [];
      return all === undefined ? [] : [{ key, id, of: isNew ?? (edits === undefined ? 'reply' : 'edit') }];
    });
    const idsOf = (of: string): readonly string[] => parsed.flatMap((one) => (one.of === of ? [one.id] : []));
    const conversations = await conversationsOf(data, viewer, idsOf('reply'));
    const messages = await ownMessagesOf(data, viewer, idsOf('edit'));
    const mayBegin = access.allows(viewer, sendMessages);
    const formOf = ({ id, of }: (typeof parsed)[number]): DraftForm | undefined => {
      if (of === 'new') return mayBegin ? { title: null, path: NEW } : undefined;
      const subject = (of === 'edit' ? messages : conversations).get(id);
      if (subject === undefined) return undefined;
      if (of === 'edit') return { title: titled(subject), path: editPath(id) };
      return { title: titled(subject), path: pathOf(id), hash: '#reply' };
    };
    return new Map(
      parsed.flatMap((one) => {
        const form = formOf(one);
        return form ? [[one.key, form] as const] : [];
      }),
    );
  },
});

const bySubject = (places: readonly Place[]): ReadonlyMap<string, string> =>
  new Map(places.map(({ id, subject }) => [id, subject]));

/** Those of the conversations that the viewer is in. */
async function conversationsOf(data: Data, viewer: Viewer, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, string>();
  return bySubject(
    await data.all(sql<Place>`select c.id, c.subject
      from conversation_participant p join conversation c on c.id = p.conversation_id
      where p.user_id = ${viewer.id!} and c.id = any(${ids}::uuid[]) order by c.id`),
  );
}

/** Those of the messages that the viewer wrote, and may still edit. */
async function ownMessagesOf(data: Data, viewer: Viewer, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, string>();
  return bySubject(
    await data.all(sql<Place>`select m.id, c.subject
      from conversation_message m join conversation c on c.id = m.conversation_id
        join conversation_participant p on p.conversation_id = c.id and p.user_id = m.author_id
      where m.author_id = ${viewer.id!} and m.content <> '' and m.id = any(${ids}::uuid[]) order by m.id`),
  );
}
