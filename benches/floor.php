<?php
/**
 * The floor: what mysqli alone takes for the statements of a function.
 */

/** Bare mysqli: nothing but the statements, prepared once where that is faster. */
final class Floor
{
    private const USER = 'SELECT id, first_name, last_name, email, profile_image, user_type, creation_time,
        last_activity, department, token FROM sb_users WHERE id = ?';
    private const DETAILS = 'SELECT slug, name, value FROM sb_users_data WHERE user_id = ? ORDER BY id';
    private const SETTINGS = "SELECT value FROM sb_settings WHERE name = 'settings'";
    private const NEWEST = 'SELECT MAX(id) FROM sb_messages WHERE conversation_id = ?';
    private const CONVERSATION = 'SELECT c.id, c.user_id, u.first_name, u.last_name, u.profile_image, u.user_type,
        c.title, c.creation_time conversation_time, c.status_code conversation_status_code, c.department
        FROM sb_conversations c JOIN sb_users u ON u.id = c.user_id WHERE c.id = ';
    private const MESSAGES = 'SELECT m.id, m.user_id, m.message, m.creation_time, m.attachments, m.status_code,
        m.payload, m.conversation_id, u.first_name, u.last_name, u.profile_image, u.user_type
        FROM sb_messages m JOIN sb_users u ON u.id = m.user_id WHERE m.conversation_id = %d ORDER BY m.id';
    private const SET_STATUS = 'UPDATE sb_conversations SET status_code = ? WHERE id = ?';
    private const ADD_MESSAGE = "INSERT INTO sb_messages (user_id, message, creation_time, status_code, attachments,
        payload, conversation_id) VALUES (?, ?, UTC_TIMESTAMP(), 0, '', '', ?)";
    private const STOP_TYPING = 'UPDATE sb_users SET typing = -1, last_activity = UTC_TIMESTAMP() WHERE id = ?';

    private const USERS = 'SELECT id, first_name, last_name, email, profile_image, user_type, creation_time,
        last_activity, department, token FROM sb_users WHERE ';
    private const NEWEST_OF_TYPE = "(SELECT id, creation_time FROM sb_users FORCE INDEX (x_type) WHERE user_type = '%s'
        ORDER BY creation_time DESC, id DESC LIMIT 100)";
    private const DETAILS_OF_USERS = 'SELECT user_id, slug, name, value FROM sb_users_data WHERE user_id IN (%s)';
    private const COUNTS = "SELECT COUNT(IF(user_type = 'lead', 1, NULL)), COUNT(IF(user_type = 'user', 1, NULL)),
        COUNT(IF(user_type = 'visitor', 1, NULL)) FROM sb_users";
    private const COUNTS_BY_TYPE = 'SELECT user_type, COUNT(*) FROM sb_users GROUP BY user_type';
    private const BY_DETAIL = "SELECT STRAIGHT_JOIN u.id, u.first_name, u.last_name, u.email, u.user_type, u.department
        FROM sb_users_data d JOIN sb_users u ON u.id = d.user_id
        WHERE d.slug = ? AND d.value = ? AND u.user_type <> 'bot' ORDER BY u.id + 0 LIMIT 1";

    private mysqli $connection;
    private array $statements = [];

    public function __construct()
    {
        $this->connection = new mysqli(...SERVER);
        $this->connection->set_charset('utf8mb4');
        $this->connection->query("SET SESSION time_zone = '+00:00'");
    }

    public function one(string $sql): int
    {
        return (int) $this->connection->query($sql)->fetch_row()[0];
    }

    public function user(int $id): array
    {
        return $this->prepared(self::USER, [$id])->get_result()->fetch_assoc();
    }

    public function userWithDetails(int $id): array
    {
        $user = $this->user($id);
        $user['details'] = $this->prepared(self::DETAILS, [$id])->get_result()->fetch_all(MYSQLI_ASSOC);
        return $user;
    }

    /** The text of the settings, not decoded. */
    public function settings(): string
    {
        return $this->prepared(self::SETTINGS, [])->get_result()->fetch_row()[0];
    }

    public function newest(int $conversation): int
    {
        return $this->prepared(self::NEWEST, [$conversation])->get_result()->fetch_row()[0];
    }

    public function conversation(int $id): array
    {
        return [
            'details' => $this->connection->query(self::CONVERSATION . $id)->fetch_assoc(),
            'messages' => $this->connection->query(sprintf(self::MESSAGES, $id))->fetch_all(MYSQLI_ASSOC),
        ];
    }

    public function send(int $sender, int $conversation, string $message): int
    {
        $this->connection->begin_transaction();
        $this->prepared(self::SET_STATUS, [2, $conversation]);
        $id = $this->prepared(self::ADD_MESSAGE, [$sender, $message, $conversation])->insert_id;
        $this->prepared(self::STOP_TYPING, [$sender]);
        $this->connection->commit();
        return $id;
    }

    public function users(bool $indexed): array
    {
        $newest = ' ORDER BY creation_time DESC, id DESC';
        if (!$indexed) {
            return $this->all(self::USERS . "(user_type = 'bot') IS NOT TRUE$newest LIMIT 100");
        }
        $branches = array_map(
            static fn (string $type): string => sprintf(self::NEWEST_OF_TYPE, $type),
            ['visitor', 'lead', 'user', 'agent', 'admin'],
        );
        $union = implode(' UNION ALL ', $branches);
        return $this->all(self::USERS . "id IN (SELECT id FROM (SELECT id FROM ($union) newest$newest LIMIT 100) page)$newest");
    }

    public function usersWithDetails(bool $indexed): array
    {
        $users = array_column($this->users($indexed), null, 'id');
        foreach ($this->all(sprintf(self::DETAILS_OF_USERS, implode(',', array_keys($users)))) as $detail) {
            $users[$detail['user_id']]['extra'][] = $detail;
        }
        return $users;
    }

    public function counts(bool $indexed): array
    {
        return $this->all($indexed ? self::COUNTS_BY_TYPE : self::COUNTS);
    }

    public function online(string $since, string $condition): array
    {
        return $this->prepared(self::USERS . "last_activity > ? AND $condition", [$since])->get_result()->fetch_all();
    }

    public function userBy(string $slug, string $value): array|false|null
    {
        return $this->prepared(self::BY_DETAIL, [$slug, $value])->get_result()->fetch_assoc();
    }

    private function all(string $sql): array
    {
        return $this->connection->query($sql)->fetch_all(MYSQLI_ASSOC);
    }

    private function prepared(string $sql, array $values): mysqli_stmt
    {
        $statement = $this->statements[$sql] ??= $this->connection->prepare($sql);
        $statement->execute($values);
        return $statement;
    }
}
