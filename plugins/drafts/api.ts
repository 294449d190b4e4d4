import { Type, type Static } from 'parley-forum';
import { nullable, Time } from 'parley-forum/plugins/api';

/** Maximum bytes of the fields of one form, as JSON: more than the longest text that may be posted. */
export const MAX_DRAFT_BYTES = 300_000;

/**
 * The contents of a form by field name (1 to 200 characters): texts, whether a checkbox is checked (`name=value`), and
 * query parameters of the form's URL (`?to`).
 */
export const DraftFields = Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean()]));
export type DraftFields = Static<typeof DraftFields>;

/** An unfinished text of a member, visible to its author alone. */
export const DraftRecord = Type.Object({
  key: Type.String({
    description:
      '`new-` and 12 hexadecimal digits that stand for one of several new discussions, `new` for one without them, `reply-` and the id of a discussion, `edit-` and the id of a post, or the key of another plugin’s form, such as `message-` and the id of a conversation',
  }),
  fields: DraftFields,
  updated_at: Time,
  /**
   * The title of a new discussion or conversation, or else of the one that the draft belongs to, as far as the member
   * may see it.
   */
  title: nullable(Type.String()),
  excerpt: Type.String(),
  /** The URL of the form to continue in; null if the member may not see it at present. */
  url: nullable(Type.String()),
});
export type DraftRecord = Static<typeof DraftRecord>;
