import { defineAction, definePermission, Type, type Static } from 'parley-forum';
import { nullable, Time } from 'parley-forum/plugins/api';
import { defineSlot } from 'parley-forum/plugins/web';

/** An upload as its owner sees it. `url` is absolute; everyone who knows it may fetch the file. */
export const UploadRecord = Type.Object({
  id: Type.String(),
  url: Type.String(),
  name: Type.String({ description: 'The original file name, sanitised; downloads are offered under it' }),
  type: Type.String({ description: 'Media type, detected from the content' }),
  size: Type.Integer({ description: 'Bytes, as stored' }),
  width: nullable(Type.Integer({ description: 'Pictures only' })),
  height: nullable(Type.Integer()),
  copies: Type.Array(Type.Object({ url: Type.String(), width: Type.Integer() }), {
    description: 'Smaller copies of pictures, smallest first; created when the picture is uploaded',
  }),
  created_at: Time,
});
export type UploadRecord = Static<typeof UploadRecord>;

/** `post`: shown in posts; `avatar`: a member's picture. */
export type Purpose = 'post' | 'avatar';

/** A user deleted an upload. Not raised when unused files are removed. `by`: the account that deleted it. */
export const uploadDeleted = defineAction<{
  readonly upload: { readonly id: string; readonly owner_id: string; readonly type: string; readonly purpose: Purpose };
  readonly by: string;
}>('upload.deleted');

export const uploadFiles = definePermission('uploads.upload', {
  label: 'upload pictures and files',
  default: 'member',
});
export const manageUploads = definePermission('uploads.manage', {
  label: 'delete others’ uploads',
  default: 'moderator',
});

export const uploadSettingsEnd = defineSlot<object>(
  'settings.uploads.end',
  'At the end of the page of a member’s files: panels.',
);
