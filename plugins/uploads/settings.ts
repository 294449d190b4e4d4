import { Type, type Static } from 'parley-forum';
import { KINDS } from './processing/formats.ts';

const group = { 'x-group': 'uploads' };

/** Sizes are bytes as stored; a rate is a count in ten minutes. */
export const uploadSettings = Type.Object({
  'uploads.types': Type.Array(Type.Enum([...KINDS]), {
    default: ['png', 'jpg', 'gif', 'webp', 'avif', 'pdf', 'zip', 'txt'],
    title: 'Types of files',
    ...group,
    'x-danger': true,
    description: 'Pictures are re-encoded without their metadata; all other files are only offered as downloads.',
  }),
  'uploads.max_size': Type.Integer({
    default: 5 * 1024 ** 2,
    minimum: 1_024,
    maximum: 1024 ** 3,
    title: 'Largest file, in bytes',
    description: '5,242,880 bytes are 5 MiB.',
    ...group,
  }),
  'uploads.max_pixels': Type.Integer({
    default: 40_000_000,
    minimum: 65_536,
    maximum: 200_000_000,
    title: 'Largest picture, in pixels',
    ...group,
    description:
      'Width times height, for all frames of an animation together. A picture of 40 million pixels briefly takes up to 160 MB of memory.',
  }),
  'uploads.member_files': Type.Integer({ default: 1_000, minimum: 1, title: 'Files of one member', ...group }),
  'uploads.member_bytes': Type.Integer({
    default: 200 * 1024 ** 2,
    minimum: 1_024,
    title: 'Bytes of one member',
    description: 'All files of one member together.',
    ...group,
  }),
  'uploads.unused_days': Type.Integer({
    default: 7,
    minimum: 1,
    maximum: 365,
    title: 'Days until unused files are removed',
    description: 'After no post shows or links to them any more.',
    ...group,
  }),
  'uploads.rate_limit': Type.Integer({
    default: 30,
    minimum: 1,
    title: 'Uploads per ten minutes and member',
    description: 'Moderators five times as many.',
    'x-group': 'limits',
  }),
});
export type UploadSettings = Static<typeof uploadSettings>;
