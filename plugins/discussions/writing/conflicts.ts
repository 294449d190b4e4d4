import { HttpError } from 'parley-forum';

// Errors for changes that happen while a request waits for its rows: 409, so that callers retry and get the appropriate
// response.

/** The discussion was locked, moved or deleted. */
export const changedMeanwhile = (): HttpError =>
  new HttpError(409, 'This discussion has just been changed by a moderator; try again');

/** A value edited in a form has changed since the form was opened. */
export const editedMeanwhile = (): HttpError =>
  new HttpError(409, 'This discussion was changed in the meantime. Save again to replace that version with yours.');

export const movedMeanwhile = (): HttpError =>
  new HttpError(409, 'This post has just been moved to another discussion; try again');

export const categoryRemovedMeanwhile = (): HttpError =>
  new HttpError(409, 'This category has just been removed; choose another one');
