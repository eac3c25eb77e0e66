/** Types of sb-client.js. */

/** A message, as the API and the event message have it. */
export interface Message {
  id: string;
  user_id: string;
  message: string;
  /** YYYY-MM-DD HH:MM:SS, UTC */
  creation_time: string;
  attachments: [name: string, link: string][] | '';
  /** 0 sent, 2 read by the other side */
  status_code: string;
  payload: Record<string, unknown> | '';
  conversation_id: string;
  first_name: string;
  last_name: string;
  profile_image: string | null;
  user_type: 'visitor' | 'lead' | 'user' | 'agent' | 'admin' | 'bot';
  /** There when a push service did not take it whole, and the rest could not be read. */
  truncated?: true;
}

/** A conversation in a list: its last message, and its state. */
export interface ConversationItem extends Message {
  conversation_status_code: string;
  message_user_type: Message['user_type'];
}

export interface ConversationDetails {
  id: string;
  user_id: string;
  first_name: string;
  last_name: string;
  profile_image: string | null;
  user_type: Message['user_type'];
  title: string;
  conversation_time: string;
  conversation_status_code: string;
  department: string | null;
}

export interface SentMessage {
  id: string;
  status: 'sent';
  /** ISO 8601, UTC */
  timestamp: string;
  conversation_id: string;
}

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

export interface NewMessage {
  conversation_id: string | number;
  user_id: string | number;
  message?: string;
  attachments?: ([name: string, link: string] | { name: string; url: string })[];
}

export interface NewConversation {
  user_id: string | number;
  title?: string;
  department?: number;
  status_code?: 0 | 1 | 2 | 3 | 4;
  agent_id?: string | number;
  source?: string;
  extra?: string;
}

/** What comes with each event. */
export interface Events {
  message: Message;
  'message.updated': Message;
  'message.deleted': Message;
  'message.read': { conversation_id: string; message_id: string; user_id: string };
  'conversation.created': {
    conversation_id: string;
    user_id: string;
    conversation_status_code: string;
    department: string | null;
  };
  'conversation.status': { conversation_id: string; status_code: string };
  'conversation.assigned': { conversation_id: string; agent_id: string };
  'conversation.department': { conversation_id: string; department: string | null };
  'conversation.rating': { conversation_id: string; rating: number };
  'note.created': { conversation_id: string; id: number; user_id: string };
  typing: { user_id: string; conversation_id: string };
  presence: { user_id: string; user_type: Message['user_type'] | null; online: boolean };
  'user.created': { user_id: string };
  'user.updated': { user_id: string };
  'user.deleted': { user_ids: string[] };
  resync: { last_event_id?: string };
  open: { heartbeat?: number; last_event_id?: string; agents_online?: boolean };
  close: null;
  error: SBError;
}

export interface Options {
  apiKey: string;
  /** The address of the installation, behind which /v1 follows. */
  endpoint: string;
  transport?: 'auto' | 'websocket' | 'sse';
  /** In place of the feed, the push service of the realtime integration. */
  realtime?: {
    key: string;
    cluster?: string;
    host?: string;
    port?: number;
    tls?: boolean;
    /** private-user-ID of a user, presence-agents of an agent: there they hear of everything that is theirs to know. */
    channels: string[];
  };
}

/** Why a request was refused. */
export class SBError extends Error {
  constructor(code: string, message?: string, details?: Partial<Pick<SBError, 'status' | 'field' | 'requestId' | 'errors' | 'retryAfter' | 'cause'>>);
  /** The API's code; unreachable, when there was no answer. */
  code: string;
  status: number;
  field?: string;
  requestId?: string;
  errors: { code: string; message: string; field?: string }[];
  retryAfter?: number;
}

export class SBClient {
  constructor(options: Options);
  sendMessage(message: NewMessage): Promise<SentMessage>;
  openConversation(conversation: NewConversation): Promise<ConversationDetails>;
  messages(conversation_id: string | number, page?: { after?: string; limit?: number }): Promise<Page<Message>>;
  conversations(filter?: {
    after?: string;
    limit?: number;
    user_id?: string | number;
    status_code?: number;
    department?: number;
    source?: string;
  }): Promise<Page<ConversationItem>>;
  on<E extends keyof Events>(event: E, handler: (data: Events[E]) => void): () => void;
  on(event: string, handler: (data: unknown) => void): () => void;
  close(): void;
}

/** The login of the library in the browser. */
export const SBF: {
  loginCookie(data: string): true;
  logout(): true;
};
