import { Type, type Static } from 'parley-forum';
import { nullable, Time } from 'parley-forum/plugins/api';

/** Bytes of what is filled into one form, as JSON: more than the longest text that may be posted. */
export const MAX_DRAFT_BYTES = 300_000;

/**
 * What is filled into a form, by field (a name of 1 to 200 characters): texts, whether a box is ticked (`name=value`),
 * and what the form's address says (`?to`).
 */
export const DraftFields = Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean()]));
export type DraftFields = Static<typeof DraftFields>;

/** What a member began to write, for themselves alone. */
export const DraftRecord = Type.Object({
  key: Type.String({
    description:
      '`new`, `reply-` and the id of a discussion, `edit-` and the id of a post, or one of another plugin’s forms, such as `message-` and the id of a conversation',
  }),
  fields: DraftFields,
  updated_at: Time,
  /** Of a new discussion or conversation; else of that which it belongs to, as far as the member may see it. */
  title: nullable(Type.String()),
  excerpt: Type.String(),
  /** The form to go on in; null where the member may not see it at present. */
  url: nullable(Type.String()),
});
export type DraftRecord = Static<typeof DraftRecord>;
