import { definePermission } from 'parley-forum';

export const seeMembers = definePermission('members.see', { label: 'see the list of members', default: 'everyone' });
